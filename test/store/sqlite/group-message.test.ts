import { expect, test } from 'vitest';
import type { Outcome } from '../../../src/locks/outcomes.js';
import type { CommittedGroup } from '../../../src/store/lock-store.js';
import { pack, unpack } from '../../../src/store/sqlite/group-message.js';
import { lock } from '../../support/lock-values.js';

const held = lock({ requestId: 'request', reacquired: true, metadata: '{"host":"a"}', expiryRecorded: true });
const released = { kind: 'released', resource: 'job:1', fencingToken: 7n, releasedAt: 1_000_001, revision: 10n } as const;

const OUTCOMES: Outcome[] = [
  { kind: 'acquired', lock: held, reacquired: true },
  { kind: 'renewed', lock: lock() },
  released,
  { kind: 'acquired-all', locks: [lock(), held] },
  { kind: 'renewed-all', locks: [held], lost: ['job:2'] },
  { kind: 'released-all', released: [released, { ...released, resource: 'job:3' }], notHeld: ['job:2'] },
  { kind: 'conflict', resource: 'job:1', reason: 'HELD_BY_ANOTHER', current: held, blockedBy: [held, lock()] },
  { kind: 'forbidden', resource: 'job:1', current: held },
  { kind: 'not-found', resource: 'job:1' },
  { kind: 'queued', ticket: 3n, deadline: 2_000_000, replaced: 'waiter 1' },
  { kind: 'left', blockedBy: [held] },
  { kind: 'not-in-line', revision: 12n },
  { kind: 'settled', resource: 'job:1' },
];

test('a group arrives in another thread as it was committed', () => {
  const { resource, owner, fencingToken, acquiredAt, expiresAt } = held;
  const group: CommittedGroup = {
    outcomes: OUTCOMES,
    events: [
      {
        ...{ revision: 11n, type: 'ACQUIRED', at: 1_000_002, writtenAt: 1_000_003, resource, owner, fencingToken, acquiredAt },
        ...{ expiresAt, requestId: 'request', metadata: '{"host":"a"}', waiterId: 'waiter 2' },
      },
      {
        ...{ revision: 12n, type: 'EXPIRED', at: 1_000_004, writtenAt: 1_000_005, resource, owner, fencingToken, acquiredAt },
        ...{ expiresAt, requestId: null, metadata: null, waiterId: null },
      },
    ],
    logId: 'log',
    commitMs: 1.5,
  };
  expect(unpack(structuredClone(pack(group)))).toStrictEqual(group);
});
