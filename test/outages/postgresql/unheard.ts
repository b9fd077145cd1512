import { expect } from 'vitest';
import type { LockStore } from '../../../src/store/lock-store.js';
import { acquire } from '../../support/commands.js';
import { runSql } from '../../support/sql.js';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import { answerTo, type TimedAnswer } from './answers.js';

/** Within this an answer that was lost is found out, and a little more for the machine. */
export const FOUND_OUT_MS = 3_000;

/** A group that acquired `job`, and whose answer does not come. */
export interface Unheard {
  readonly store: LockStore;
  readonly proxy: TcpProxy;
  readonly databaseUrl: string;
  readonly answer: Promise<TimedAnswer>;
}

/** The whole log is pruned. */
export async function forget(databaseUrl: string): Promise<void> {
  await runSql(databaseUrl, 'DELETE FROM lock_events');
  await runSql(databaseUrl, 'UPDATE lock_clock SET oldest_revision = revision');
}

/** Its connection breaks when the log does not tell of it any more. */
export async function expectUnknownWhereForgotten({ store, proxy, databaseUrl, answer }: Unheard): Promise<void> {
  await forget(databaseUrl);
  proxy.cut();
  proxy.pass();
  expect((await answer).answer).toBe('unavailable, perhaps applied');
  expect((await answerTo(store, acquire('job', 'B'))).answer).toBe('conflict');
}

/** Its connection breaks, and no other one leads to an answer. */
export async function expectUnknownWhereOutOfReach(storeUnheard: () => Promise<Unheard>): Promise<void> {
  const refuse = (proxy: TcpProxy) => {
    proxy.refuse();
  };
  const hang = (proxy: TcpProxy) => {
    proxy.stall();
  };
  const effects = [refuse, hang].map(async (happen) => {
    const { store, proxy, answer } = await storeUnheard();
    happen(proxy);
    proxy.cut();
    const cutAt = performance.now();
    const told = await answer;
    const afterMs = performance.now() - cutAt;
    proxy.pass();
    return { told: told.answer, afterMs, next: (await answerTo(store, acquire('job', 'B'))).answer };
  });
  for (const { told, afterMs, next } of await Promise.all(effects)) {
    expect([told, next]).toEqual(['unavailable, perhaps applied', 'conflict']);
    expect(afterMs).toBeLessThan(FOUND_OUT_MS);
  }
}
