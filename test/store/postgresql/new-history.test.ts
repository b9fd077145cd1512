import { expect, test } from 'vitest';
import { beginNewHistory } from '../../../src/store/postgresql/new-history.js';
import { acquire } from '../../support/commands.js';
import { createPostgresqlDatabase } from '../../support/postgresql.js';
import { brief, startEngine, take, watchRequest } from '../../support/engine.js';
import { withClient } from '../../support/postgresql/client.js';

const JUMP = 1_000_000_000_000n;

test('a new history begins with tokens above all earlier ones, and whoever watches is told, though servers run', async () => {
  const { engine, databaseUrl } = await startEngine();
  await engine.submit(acquire('kept', 'A', { ttlMs: 60_000 }));
  const { logId } = await engine.head();
  const watch = engine.watch(watchRequest({ snapshot: false, after: 0n, logId }));
  expect((await take(watch, 1)).map(brief)).toEqual(['ACQUIRED kept 1']);

  const begun = await beginNewHistory(databaseUrl);
  expect(begun.revision).toBe(1n + JUMP);
  expect(begun.logId).not.toBe(logId);
  expect(await engine.head()).toEqual({ ...begun, oldestRevision: begun.revision });
  expect((await take(watch, 1)).map(brief)).toEqual([`RESET kept ${begun.revision}`]);
  expect(await engine.submit(acquire('next', 'B'))).toMatchObject({
    kind: 'acquired',
    lock: { fencingToken: begun.revision + 1n },
  });
  expect((await take(watch, 1)).map(brief)).toEqual([`ACQUIRED next ${begun.revision + 1n}`]);
  await watch.return?.();
});

test('a new history in an empty database brings the schema with it', async () => {
  const databaseUrl = await createPostgresqlDatabase();
  expect((await beginNewHistory(databaseUrl)).revision).toBe(JUMP);
  const { rows } = await withClient(databaseUrl, (client) => client.query('SELECT oldest_revision FROM lock_clock'));
  expect(rows).toEqual([{ oldest_revision: String(JUMP) }]);
});
