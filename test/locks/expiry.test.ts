import { describe, expect, test } from 'vitest';
import { decideGroup } from '../../src/locks/decide-group.js';
import { settle } from '../../src/locks/decide.js';
import { heldLock, isHeld } from '../../src/locks/lock.js';
import { expire, expiredLock, lock, lockEvent, NOW, remembering, REVISION } from '../support/lock-values.js';

const moment = { now: NOW, revision: REVISION };

describe('a lock', () => {
  test.each([
    ['a millisecond before its expiresAt', NOW + 1, true],
    ['at its expiresAt', NOW, false],
    ['a millisecond after its expiresAt', NOW - 1, false],
  ])('%s is held: %s', (_, expiresAt, held) => {
    const row = lock({ expiresAt });
    expect(isHeld(row, NOW)).toBe(held);
    expect(heldLock(row, NOW)).toBe(held ? row : null);
  });

  test('without a row reads as absent', () => {
    expect(heldLock(null, NOW)).toBeNull();
  });
});

describe('settling', () => {
  test('a passed expiry that is not recorded writes EXPIRED, dated at expiresAt, and keeps the row', () => {
    const row = expiredLock({ expiryRecorded: false });
    expect(settle(row, moment)).toEqual({
      row: { ...row, revision: REVISION, expiryRecorded: true },
      event: lockEvent({ type: 'EXPIRED', revision: REVISION, at: NOW - 1_000, writtenAt: NOW, expiresAt: NOW - 1_000 }),
    });
  });

  test('an expiry at this very millisecond writes EXPIRED', () => {
    expect(settle(lock({ expiresAt: NOW }), moment)?.event).toMatchObject({ type: 'EXPIRED', at: NOW });
  });

  test('an expiry that is recorded changes nothing', () => {
    expect(settle(expiredLock(), moment)).toBeNull();
  });

  test('a held lock changes nothing', () => {
    expect(settle(lock(), moment)).toBeNull();
  });

  test('a resource without a row changes nothing', () => {
    expect(settle(null, moment)).toBeNull();
  });
});

test.each([
  ['a held lock', lock()],
  ['a settled one', expiredLock()],
  ['no row', null],
])('expire of %s answers settled, and changes nothing more', (_, row) => {
  const rows = new Map(row === null ? [] : [[row.resource, row]]);
  const state = { revision: 100n, now: NOW, rows, retries: remembering(), ticket: 0n, standing: null };
  const { outcomes, events } = decideGroup(state, [expire('job:1')]);
  expect(outcomes).toEqual([{ kind: 'settled', resource: 'job:1' }]);
  expect(events).toEqual([]);
});
