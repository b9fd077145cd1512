/** The built program is what is measured: what `npm start` runs, writer thread included. */
async function built(path: string): Promise<unknown> {
  return import(new URL(`../../dist/${path}`, import.meta.url).href);
}

export const { openStore } = (await built('store/open-store.js')) as typeof import('../../src/store/open-store.js');
export const { Engine } = (await built('engine/engine.js')) as typeof import('../../src/engine/engine.js');
export const { WriteConnection } = (await built(
  'store/sqlite/write-connection.js',
)) as typeof import('../../src/store/sqlite/write-connection.js');
export const { commitGroup } = (await built(
  'store/sqlite/group-transaction.js',
)) as typeof import('../../src/store/sqlite/group-transaction.js');
export const { SharedClock, systemTime } = (await built(
  'store/sqlite/shared-clock.js',
)) as typeof import('../../src/store/sqlite/shared-clock.js');
