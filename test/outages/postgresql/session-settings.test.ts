import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { takeLock } from '../../../src/store/postgresql/group-sql.js';
import { openPrismaClient } from '../../../src/store/prisma-clients.js';
import { acquire, release, renew } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { withClient } from '../../support/postgresql/client.js';
import { runSql } from '../../support/sql.js';
import { openQuietStore } from './store.js';

/** What an administrator may set for every session of a database, and what would break one that relied on the defaults. */
const SETTINGS = [
  'default_transaction_isolation = serializable',
  "default_transaction_isolation = 'repeatable read'",
  'default_transaction_read_only = on',
  'default_transaction_deferrable = on',
  'synchronous_commit = off',
  "statement_timeout = '100ms'",
  "lock_timeout = '10ms'",
  "idle_in_transaction_session_timeout = '1s'",
  "timezone = 'Asia/Kathmandu'",
  "datestyle = 'German, DMY'",
  'search_path = elsewhere',
  'array_nulls = off',
  'standard_conforming_strings = off',
  'backslash_quote = off',
  'quote_all_identifiers = on',
  'extra_float_digits = -15',
  'enable_indexscan = off',
  'plan_cache_mode = force_generic_plan',
  "client_encoding = 'LATIN1'",
];

const METADATA = JSON.stringify({ text: `it's "quoted" \\ $1 🔒` });

/** Does it while somebody has the lock, for longer than any of these settings lets a statement take. */
async function waitForLock<T>(databaseUrl: string, work: () => Promise<T>): Promise<T> {
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  await holder.query('SET idle_in_transaction_session_timeout = 0; BEGIN READ WRITE; SELECT * FROM public.lock_clock FOR UPDATE');
  const working = work();
  await sleep(300);
  await holder.end();
  return working;
}

/** All that the service does with its database, one after the other, and what comes of it. */
async function tryAll(databaseUrl: string): Promise<unknown> {
  const store = await openQuietStore(databaseUrl);
  const prisma = await openPrismaClient(databaseUrl);
  onTestFinished(() => prisma.$disconnect());
  const groups = [
    await waitForLock(databaseUrl, () => store.commit([acquire('waited', 'A', { metadata: METADATA })])),
    await store.commit([acquire('a\\b', "O'Hara", { requestId: 'r', ttlMs: 1 }), acquire('long', 'A')]),
    await store.commit([acquire('waited', 'B'), release('long', 'A'), renew('none', 'A')]),
    await store.commit([]),
  ];
  await sleep(5);
  const due = await store.dueExpiries(10);
  groups.push(await store.commit(due.map((resource) => ({ kind: 'expire', resource }))));
  const { events, ...head } = await store.readLog(0n, 100, { resource: null, prefix: null, owner: null });
  const held = await store.readLocks({ resource: null, prefix: 'w', owner: null }, null, 10, await store.now());
  const pruned = await store.prune({ eventAgeMs: 0, eventRows: 1, expiredLockAgeMs: -1_000 });
  return {
    outcomes: groups.map(({ outcomes }) => outcomes.map(({ kind }) => kind)),
    events: events.map(({ type, resource, owner, requestId, metadata }) => [type, resource, owner, requestId, metadata]),
    head: [head.revision, head.oldestRevision, head.through],
    held: held.map(({ resource, owner, metadata }) => [resource, owner, metadata]),
    pruned,
    listed: await prisma.distributedLock.findMany({ select: { resource: true, metadata: true } }),
    counted: await prisma.$queryRaw`SELECT count(*) AS held FROM distributed_locks`,
    isRecent: Math.abs((await store.now()) - Date.now()) < 60_000,
  };
}

async function createDatabaseWith(setting: string | null): Promise<string> {
  const databaseUrl = await createDatabase();
  await runSql(databaseUrl, 'CREATE SCHEMA elsewhere');
  if (setting !== null) await runSql(databaseUrl, `ALTER DATABASE ${new URL(databaseUrl).pathname.slice(1)} SET ${setting}`);
  return databaseUrl;
}

test('whatever the database sets for its sessions changes nothing of what the service does', { timeout: 60_000 }, async () => {
  const expected = await tryAll(await createDatabaseWith(null));
  const tried = SETTINGS.map(async (setting) => {
    const effect = await tryAll(await createDatabaseWith(setting)).catch((error: unknown) => error);
    return { setting, effect };
  });
  for (const { setting, effect } of await Promise.all(tried)) expect(effect, setting).toEqual(expected);
});

test('a group is stored durably, and sees what others have committed, whatever the database would have it do', async () => {
  const databaseUrl = await createDatabaseWith('synchronous_commit = off');
  await withClient(databaseUrl, async (client) => {
    await client.query("SET default_transaction_isolation = 'serializable'");
    await client.query(takeLock());
    const { rows } = await client.query(
      "SELECT current_setting('synchronous_commit') AS commit, current_setting('transaction_isolation') AS isolation",
    );
    expect(rows).toEqual([{ commit: 'on', isolation: 'read committed' }]);
  });
});
