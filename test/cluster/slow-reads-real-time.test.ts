import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { httpApi, lockOf, type LockApi, type LockView } from '../faults/lock-api.js';
import { Session } from '../faults/session.js';
import { createPostgresqlDatabase } from '../support/postgresql.js';
import { startInstances, type Instance } from './instances.js';

const TTL_MS = 4_000;
/** Each way between the instance and its database: whatever a read asks for first is old when it asks for the next thing. */
const DELAY_MS = 150;
const READ_EVERY_MS = 125;
const WARM_UP_READS = 8;

/** Ways to be told which locks are held. */
const READS: Readonly<Record<string, (api: LockApi, session: Session) => Promise<readonly (LockView | null)[]>>> = {
  'a lock': async (api) => [await api.lock('r')],
  'a list': (api) => api.locks({ prefix: 'r' }),
  'a snapshot': async (_api, session) => {
    const watch = await session.watch();
    watch.stop();
    return watch.items.flatMap((item) => (item.__typename === 'LockSnapshot' ? item.locks : []));
  },
};

test.each(Object.entries(READS))(
  '%s that is read so slowly that the lock expires meanwhile shows it as it was, or not at all',
  { timeout: 60_000 },
  async (_name, read) => {
    const instances = await startInstances(['S1', 'S2'], { databaseUrl: await createPostgresqlDatabase() });
    const [near, far] = instances as [Instance, Instance];
    const nearApi = httpApi(near.url);
    const [farApi, farSession] = [httpApi(far.url), await Session.open(far.url)];
    // A connection is slow to make.
    await Promise.all(Array.from({ length: WARM_UP_READS }, () => read(farApi, farSession)));
    far.database.delay(DELAY_MS);

    const lock = lockOf(await nearApi.acquire('r', 'A', { ttlMs: TTL_MS }));
    const reads: Promise<readonly (LockView | null)[]>[] = [];
    for (let passedMs = 0; passedMs < TTL_MS; passedMs += READ_EVERY_MS) {
      reads.push(read(farApi, farSession));
      await sleep(READ_EVERY_MS);
    }
    const seen = (await Promise.all(reads)).flat();
    expect(seen).toContainEqual(lock);
    expect(seen.filter((view) => view !== null && view.revision !== lock.revision)).toEqual([]);
    expect(await nearApi.events()).toHaveLength(2);
  },
);
