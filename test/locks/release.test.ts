import { expect, test } from 'vitest';
import type { ReleaseCommand } from '../../src/locks/commands.js';
import * as rules from '../../src/locks/decide.js';
import type { Lock } from '../../src/locks/lock.js';
import { expiredLock, lock, lockEvent, NOW, release, remembering, REVISION } from '../support/lock-values.js';

const decideRelease = (row: Lock | null, command: ReleaseCommand, retries = remembering()) =>
  rules.release(row, command, retries, { now: NOW, revision: REVISION });

const releasedBefore = remembering(lockEvent({ type: 'RELEASED', revision: 20n, at: NOW - 2_000 }));

test('release of a free resource answers not-found', () => {
  expect(decideRelease(null, release())).toEqual({ outcome: { kind: 'not-found', resource: 'job:1' }, row: null, event: null });
});

test('release of an expired own lock answers not-found and keeps its row', () => {
  const row = expiredLock();
  expect(decideRelease(row, release({ fencingToken: 7n }))).toEqual({
    outcome: { kind: 'not-found', resource: 'job:1' },
    row,
    event: null,
  });
});

test('release of a lock that expires at this very millisecond answers not-found', () => {
  const { outcome } = decideRelease(lock({ expiresAt: NOW, expiryRecorded: true }), release());
  expect(outcome.kind).toBe('not-found');
});

test('release of an expired lock of another owner answers not-found, not whose it was', () => {
  expect(decideRelease(expiredLock({ owner: 'ben' }), release()).outcome).toEqual({ kind: 'not-found', resource: 'job:1' });
});

test("release of another owner's lock answers forbidden with the lock, and changes nothing", () => {
  const row = lock({ owner: 'ben' });
  expect(decideRelease(row, release())).toEqual({
    outcome: { kind: 'forbidden', resource: 'job:1', current: row },
    row,
    event: null,
  });
});

test.each([7n, 3n])("release of another owner's lock with token %d answers forbidden, whatever the token", (fencingToken) => {
  expect(decideRelease(lock({ owner: 'ben' }), release({ fencingToken })).outcome.kind).toBe('forbidden');
});

test.each([
  ['an earlier', 3n],
  ['a later', 8n],
])('release of the own lock with %s token answers STALE_TOKEN with the lock, and changes nothing', (_, fencingToken) => {
  const row = lock();
  expect(decideRelease(row, release({ fencingToken }))).toEqual({
    outcome: { kind: 'conflict', resource: 'job:1', reason: 'STALE_TOKEN', current: row },
    row,
    event: null,
  });
});

test.each([
  ['its token', 7n],
  ['no token', null],
])('release of the own lock with %s answers released and removes the row', (_, fencingToken) => {
  const row = lock({ requestId: 'r1', metadata: '{"a":1}' });
  expect(decideRelease(row, release({ fencingToken }))).toEqual({
    outcome: { kind: 'released', resource: 'job:1', fencingToken: 7n, releasedAt: NOW, revision: REVISION },
    row: null,
    event: lockEvent({ type: 'RELEASED', revision: REVISION, at: NOW, writtenAt: NOW, requestId: 'r1', metadata: '{"a":1}' }),
  });
});

test('release repeated with its token answers the first release again, and changes nothing', () => {
  expect(decideRelease(null, release({ fencingToken: 7n }), releasedBefore)).toEqual({
    outcome: { kind: 'released', resource: 'job:1', fencingToken: 7n, releasedAt: NOW - 2_000, revision: 20n },
    row: null,
    event: null,
  });
});

test('release repeated with its token after another owner acquired answers released, and leaves that lock alone', () => {
  const row = lock({ owner: 'ben', fencingToken: 30n });
  const { outcome, ...rest } = decideRelease(row, release({ fencingToken: 7n }), releasedBefore);
  expect(outcome).toMatchObject({ kind: 'released', fencingToken: 7n });
  expect(rest).toEqual({ row, event: null });
});

test('release repeated with its token after the same owner acquired again answers released, and leaves the later lock alone', () => {
  const row = lock({ fencingToken: 30n });
  const { outcome, ...rest } = decideRelease(row, release({ fencingToken: 7n }), releasedBefore);
  expect(outcome).toMatchObject({ kind: 'released', fencingToken: 7n });
  expect(rest).toEqual({ row, event: null });
});

test('release repeated without a token answers not-found', () => {
  expect(decideRelease(null, release(), releasedBefore).outcome.kind).toBe('not-found');
});

test('release repeated with its token after the retry window answers not-found', () => {
  expect(decideRelease(null, release({ fencingToken: 7n })).outcome.kind).toBe('not-found');
});

test.each([
  ['of another owner', { owner: 'ben' }],
  ['of another resource', { resource: 'job:2' }],
])('release with a token that was released %s answers not-found', (_, changes) => {
  const { outcome } = decideRelease(null, release({ fencingToken: 7n, ...changes }), releasedBefore);
  expect(outcome.kind).toBe('not-found');
});
