import { expect, test } from 'vitest';
import type { RenewCommand } from '../../src/locks/commands.js';
import * as rules from '../../src/locks/decide.js';
import type { Lock } from '../../src/locks/lock.js';
import { expiredLock, lock, lockEvent, NOW, renew, REVISION } from '../support/lock-values.js';

const decideRenew = (row: Lock | null, command: RenewCommand) => rules.renew(row, command, { now: NOW, revision: REVISION });

test('renew of a resource without a row answers not-found', () => {
  expect(decideRenew(null, renew())).toEqual({ outcome: { kind: 'not-found', resource: 'job:1' }, row: null, event: null });
});

test.each([
  ['its former owner', 'anna'],
  ['another owner', 'ben'],
])('renew of an expired lock by %s answers EXPIRED without a holder', (_, owner) => {
  const row = expiredLock();
  expect(decideRenew(row, renew({ owner, fencingToken: 3n }))).toEqual({
    outcome: { kind: 'conflict', resource: 'job:1', reason: 'EXPIRED', current: null },
    row,
    event: null,
  });
});

test('renew of a lock that expires at this very millisecond answers EXPIRED', () => {
  const { outcome } = decideRenew(lock({ expiresAt: NOW, expiryRecorded: true }), renew());
  expect(outcome).toMatchObject({ reason: 'EXPIRED' });
});

test('renew in the last millisecond answers renewed', () => {
  expect(decideRenew(lock({ expiresAt: NOW + 1 }), renew()).outcome.kind).toBe('renewed');
});

test("renew of another owner's lock answers HELD_BY_ANOTHER with the lock, whatever the token", () => {
  const row = lock({ owner: 'ben' });
  const outcome = { kind: 'conflict', resource: 'job:1', reason: 'HELD_BY_ANOTHER', current: row };
  expect(decideRenew(row, renew())).toEqual({ outcome, row, event: null });
  expect(decideRenew(row, renew({ fencingToken: 7n }))).toEqual({ outcome, row, event: null });
  expect(decideRenew(row, renew({ fencingToken: 3n }))).toEqual({ outcome, row, event: null });
});

test.each([
  ['an earlier', 3n],
  ['a later', 8n],
])('renew of the own lock with %s token answers STALE_TOKEN with the lock, and changes nothing', (_, fencingToken) => {
  const row = lock();
  expect(decideRenew(row, renew({ fencingToken }))).toEqual({
    outcome: { kind: 'conflict', resource: 'job:1', reason: 'STALE_TOKEN', current: row },
    row,
    event: null,
  });
});

test.each([
  ['its token', 7n],
  ['no token', null],
])('renew of the own lock with %s moves expiresAt and revision alone', (_, fencingToken) => {
  const row = lock({ requestId: 'r1', metadata: '{"a":1}', reacquired: true });
  const renewed = { ...row, expiresAt: NOW + 60_000, revision: REVISION };
  expect(decideRenew(row, renew({ fencingToken, ttlMs: 60_000 }))).toEqual({
    outcome: { kind: 'renewed', lock: renewed },
    row: renewed,
    event: lockEvent({
      type: 'RENEWED',
      revision: REVISION,
      at: NOW,
      writtenAt: NOW,
      expiresAt: NOW + 60_000,
      requestId: 'r1',
      metadata: '{"a":1}',
    }),
  });
});

test('renew without a TTL extends from now by the TTL the lock was acquired with', () => {
  expect(decideRenew(lock({ ttlMs: 15_000 }), renew()).row).toMatchObject({ expiresAt: NOW + 15_000, ttlMs: 15_000 });
});

test('renew with another TTL leaves the TTL of the acquire as it was', () => {
  expect(decideRenew(lock({ ttlMs: 15_000 }), renew({ ttlMs: 60_000 })).row).toMatchObject({ ttlMs: 15_000 });
});

test('renew that would bring expiresAt forward answers renewed and leaves it where it was', () => {
  const { outcome, row, event } = decideRenew(lock({ expiresAt: NOW + 90_000 }), renew({ ttlMs: 1_000 }));
  expect(outcome).toMatchObject({ kind: 'renewed', lock: { expiresAt: NOW + 90_000 } });
  expect(row?.expiresAt).toBe(NOW + 90_000);
  expect(event).toMatchObject({ type: 'RENEWED', expiresAt: NOW + 90_000 });
});

test('renew repeated extends again from the later moment', () => {
  const first = decideRenew(lock(), renew({ ttlMs: 20_000 }));
  const second = rules.renew(first.row, renew({ ttlMs: 20_000 }), { now: NOW + 5_000, revision: REVISION + 1n });
  expect(second.row).toMatchObject({ expiresAt: NOW + 25_000, fencingToken: 7n });
});
