import { acknowledgedBy, type Acknowledged } from './log-checks.js';
import { lockOf, type Answer, type LockApi } from './lock-api.js';
import { ConnectionLost, type Session } from './session.js';

const RESOURCES = 12;
const OWNERS = ['A', 'B', 'C'];
/** Some expire while the load goes on; the others outlive it. */
const TTLS_MS = [150, 60_000];

const anyOf = <T>(choices: readonly T[]): T => choices[Math.floor(Math.random() * choices.length)] as T;

/** Acquires, renews and releases at random, again and again, until the connection is lost; what was acknowledged goes to `record`. */
export async function workUntilCut({ api }: Session, record: (acknowledged: Acknowledged) => void): Promise<void> {
  try {
    for (;;) {
      const resource = `r:${Math.floor(Math.random() * RESOURCES)}`;
      const owner = anyOf(OWNERS);
      const recordAnswer = (answer: Answer): Answer => {
        const acknowledged = acknowledgedBy(answer, resource, owner);
        if (acknowledged !== null) record(acknowledged);
        return answer;
      };
      const acquired = recordAnswer(await api.acquire(resource, owner, { ttlMs: anyOf(TTLS_MS) }));
      if (acquired.__typename === 'LockAcquired') await goOnWith(api, acquired, recordAnswer);
    }
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
  }
}

/** Renews the lock, releases it, does both, or leaves it to expire. */
async function goOnWith(api: LockApi, acquired: Answer, recordAnswer: (answer: Answer) => Answer): Promise<void> {
  const { resource, owner, fencingToken } = lockOf(acquired);
  if (Math.random() < 0.5) recordAnswer(await api.renew(resource, owner, { fencingToken }));
  if (Math.random() < 0.7) recordAnswer(await api.release(resource, owner, fencingToken));
}
