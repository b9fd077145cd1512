import { acknowledgedBy, type Acknowledged } from './log-checks.js';
import { lockOf, type Answer, type LockApi } from './lock-api.js';
import { ConnectionLost, type Session } from './session.js';

export const RESOURCES = Array.from({ length: 12 }, (_, number) => `r:${number}`);
export const OWNERS = ['A', 'B', 'C'];
/** Some expire while the load goes on; the others outlive it. */
const TTLS_MS = [150, 60_000];
/** Of whatever was waited for: nobody is left to release what is granted to the callers of a server that was killed. */
export const WAITED_TTL_MS = 150;
/** Longer than the load. */
const WAIT_MS = 60_000;

const anyOf = <T>(choices: readonly T[]): T => choices[Math.floor(Math.random() * choices.length)] as T;

type Record = (acknowledged: Acknowledged) => void;

/** Acquires, renews and releases at random, again and again, until the connection is lost; what was acknowledged goes to `record`. */
export async function workUntilCut({ api }: Session, record: Record): Promise<void> {
  await untilCut(async () => {
    const resource = anyOf(RESOURCES);
    const owner = anyOf(OWNERS);
    const recordAnswer = (answer: Answer) => recorded(answer, resource, owner, record);
    const acquired = recordAnswer(await api.acquire(resource, owner, { ttlMs: anyOf(TTLS_MS) }));
    if (acquired.__typename === 'LockAcquired') await goOnWith(api, acquired, recordAnswer);
  });
}

/** The same with locks that it stands in line for, one or several at once, or holds by a subscription. */
export async function waitUntilCut(session: Session, record: Record): Promise<void> {
  await untilCut(async () => {
    const resource = anyOf(RESOURCES);
    const owner = anyOf(OWNERS);
    const kind = anyOf(['one', 'several', 'hold']);
    if (kind === 'one') {
      recorded(await session.api.acquire(resource, owner, { ttlMs: WAITED_TTL_MS, waitMs: WAIT_MS }), resource, owner, record);
    } else if (kind === 'hold') {
      await session.hold({ resource, owner, ttlMs: WAITED_TTL_MS }, (update) => {
        recorded(update, resource, owner, record);
      });
    } else {
      const resources = [...new Set([resource, anyOf(RESOURCES), anyOf(RESOURCES)])];
      const { locks = [] } = await session.api.acquireAll({ resources, owner, ttlMs: WAITED_TTL_MS, waitMs: WAIT_MS });
      for (const { resource: name, revision, fencingToken } of locks) {
        record({ type: 'ACQUIRED', resource: name, owner, revision, fencingToken });
      }
    }
  });
}

async function untilCut(work: () => Promise<void>): Promise<void> {
  try {
    for (;;) await work();
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
  }
}

function recorded(answer: Answer, resource: string, owner: string, record: Record): Answer {
  const acknowledged = acknowledgedBy(answer, resource, owner);
  if (acknowledged !== null) record(acknowledged);
  return answer;
}

/** Renews the lock, releases it, does both, or leaves it to expire. */
async function goOnWith(api: LockApi, acquired: Answer, recordAnswer: (answer: Answer) => Answer): Promise<void> {
  const { resource, owner, fencingToken } = lockOf(acquired);
  if (Math.random() < 0.5) recordAnswer(await api.renew(resource, owner, { fencingToken }));
  if (Math.random() < 0.7) recordAnswer(await api.release(resource, owner, fencingToken));
}
