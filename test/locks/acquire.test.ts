import { describe, expect, test } from 'vitest';
import type { AcquireCommand } from '../../src/locks/commands.js';
import * as rules from '../../src/locks/decide.js';
import type { Lock } from '../../src/locks/lock.js';
import { acquire, expiredLock, lock, lockEvent, NOW, remembering, REVISION } from '../support/lock-values.js';

const decideAcquire = (row: Lock | null, command: AcquireCommand, retries = remembering()) =>
  rules.acquire(row, command, retries, { now: NOW, revision: REVISION });

const known = (requestId: string) => remembering(lockEvent({ requestId }));

describe('acquire that succeeds', () => {
  test('of a free resource answers acquired, not reacquired, with the row to insert', () => {
    const { outcome, row, event } = decideAcquire(null, acquire({ requestId: 'r1', metadata: '{"a":1}' }));

    const acquired: Lock = {
      resource: 'job:1',
      owner: 'anna',
      fencingToken: REVISION,
      revision: REVISION,
      acquiredAt: NOW,
      expiresAt: NOW + 30_000,
      ttlMs: 30_000,
      requestId: 'r1',
      reacquired: false,
      metadata: '{"a":1}',
      expiryRecorded: false,
    };
    expect(outcome).toEqual({ kind: 'acquired', lock: acquired, reacquired: false });
    expect(row).toEqual(acquired);
    expect(event).toEqual(
      lockEvent({
        revision: REVISION,
        at: NOW,
        writtenAt: NOW,
        fencingToken: REVISION,
        acquiredAt: NOW,
        expiresAt: NOW + 30_000,
        requestId: 'r1',
        metadata: '{"a":1}',
      }),
    );
  });

  test('of a lock that expired under another owner updates its row in place, not reacquired', () => {
    const { outcome, row, event } = decideAcquire(expiredLock({ owner: 'ben' }), acquire());

    expect(outcome).toMatchObject({ kind: 'acquired', reacquired: false, lock: { owner: 'anna', fencingToken: REVISION } });
    expect(row).toMatchObject({ owner: 'anna', acquiredAt: NOW, expiryRecorded: false });
    expect(event?.type).toBe('ACQUIRED');
  });

  test('of a lock that expired under the same owner is not reacquired', () => {
    const { outcome } = decideAcquire(expiredLock(), acquire());
    expect(outcome).toMatchObject({ kind: 'acquired', reacquired: false, lock: { reacquired: false } });
  });

  test('of a lock that expires at this very millisecond claims it', () => {
    const { outcome } = decideAcquire(lock({ owner: 'ben', expiresAt: NOW, expiryRecorded: true }), acquire());
    expect(outcome).toMatchObject({ kind: 'acquired', reacquired: false });
  });

  test('of the own lock answers reacquired, with a new token and a new acquiredAt', () => {
    const { outcome, row } = decideAcquire(lock(), acquire());

    expect(outcome).toMatchObject({ kind: 'acquired', reacquired: true });
    expect(row).toMatchObject({ fencingToken: REVISION, acquiredAt: NOW, expiresAt: NOW + 30_000, reacquired: true });
  });

  test('of the own lock takes what the new request says, not what the old one said', () => {
    const { row } = decideAcquire(
      lock({ requestId: 'r1', metadata: '"old"', ttlMs: 99_000, expiresAt: NOW + 99_000 }),
      acquire({ requestId: 'r2' }),
    );
    expect(row).toMatchObject({ requestId: 'r2', metadata: null, ttlMs: 30_000, expiresAt: NOW + 30_000 });
  });

  test('of an expired own lock with reacquire: false claims it', () => {
    const { outcome } = decideAcquire(expiredLock(), acquire({ reacquire: false }));
    expect(outcome).toMatchObject({ kind: 'acquired', reacquired: false });
  });
});

describe('acquire that is refused', () => {
  test('by another holder answers HELD_BY_ANOTHER with the lock, and changes nothing', () => {
    const row = lock({ owner: 'ben' });
    expect(decideAcquire(row, acquire())).toEqual({
      outcome: { kind: 'conflict', resource: 'job:1', reason: 'HELD_BY_ANOTHER', current: row },
      row,
      event: null,
    });
  });

  test('by another holder in its last millisecond answers HELD_BY_ANOTHER', () => {
    const { outcome } = decideAcquire(lock({ owner: 'ben', expiresAt: NOW + 1 }), acquire());
    expect(outcome).toMatchObject({ reason: 'HELD_BY_ANOTHER' });
  });

  test('by another holder, with reacquire: false, answers HELD_BY_ANOTHER', () => {
    const { outcome } = decideAcquire(lock({ owner: 'ben' }), acquire({ reacquire: false }));
    expect(outcome).toMatchObject({ reason: 'HELD_BY_ANOTHER' });
  });

  test('by the own lock, with reacquire: false, answers HELD_BY_SELF with the lock, and changes nothing', () => {
    const row = lock();
    expect(decideAcquire(row, acquire({ reacquire: false }))).toEqual({
      outcome: { kind: 'conflict', resource: 'job:1', reason: 'HELD_BY_SELF', current: row },
      row,
      event: null,
    });
  });

  test('by an owner whose name differs in case only answers HELD_BY_ANOTHER', () => {
    const { outcome } = decideAcquire(lock({ owner: 'Anna' }), acquire());
    expect(outcome).toMatchObject({ reason: 'HELD_BY_ANOTHER' });
  });
});

describe('acquire that is repeated', () => {
  test('while its acquisition is held answers that acquisition as it is now, and changes nothing', () => {
    const row = lock({ requestId: 'r1', expiresAt: NOW + 70_000, revision: 12n });
    expect(decideAcquire(row, acquire({ requestId: 'r1' }), known('r1'))).toEqual({
      outcome: { kind: 'acquired', lock: row, reacquired: false },
      row,
      event: null,
    });
  });

  test('after the retry window, while its acquisition is held, answers that acquisition: its row knows the request', () => {
    const row = lock({ requestId: 'r1' });
    expect(decideAcquire(row, acquire({ requestId: 'r1' })).outcome).toEqual({ kind: 'acquired', lock: row, reacquired: false });
  });

  test('while it is held, having been a re-acquire, answers reacquired again', () => {
    const row = lock({ requestId: 'r1', reacquired: true });
    expect(decideAcquire(row, acquire({ requestId: 'r1' })).outcome).toMatchObject({ kind: 'acquired', reacquired: true });
  });

  test('while it is held, with reacquire: false, answers that acquisition, not HELD_BY_SELF', () => {
    const row = lock({ requestId: 'r1' });
    expect(decideAcquire(row, acquire({ requestId: 'r1', reacquire: false })).outcome).toMatchObject({
      kind: 'acquired',
      lock: row,
    });
  });

  test('after its release answers REQUEST_SPENT without a holder', () => {
    expect(decideAcquire(null, acquire({ requestId: 'r1' }), known('r1'))).toEqual({
      outcome: { kind: 'conflict', resource: 'job:1', reason: 'REQUEST_SPENT', current: null },
      row: null,
      event: null,
    });
  });

  test('after its expiry answers REQUEST_SPENT: the expired lock reads as absent', () => {
    const row = expiredLock({ requestId: 'r1' });
    expect(decideAcquire(row, acquire({ requestId: 'r1' }), known('r1'))).toEqual({
      outcome: { kind: 'conflict', resource: 'job:1', reason: 'REQUEST_SPENT', current: null },
      row,
      event: null,
    });
  });

  test('after another owner took over answers REQUEST_SPENT with the new holder', () => {
    const row = lock({ owner: 'ben' });
    const { outcome } = decideAcquire(row, acquire({ requestId: 'r1' }), known('r1'));
    expect(outcome).toMatchObject({ reason: 'REQUEST_SPENT', current: row });
  });

  test('after the same owner re-acquired under another requestId answers REQUEST_SPENT with the newer acquisition', () => {
    const row = lock({ requestId: 'r2' });
    const { outcome } = decideAcquire(row, acquire({ requestId: 'r1' }), known('r1'));
    expect(outcome).toMatchObject({ reason: 'REQUEST_SPENT', current: row });
  });

  test('after the retry window, its acquisition ended, is a new acquire', () => {
    const { outcome } = decideAcquire(expiredLock({ requestId: 'r1' }), acquire({ requestId: 'r1' }));
    expect(outcome).toMatchObject({ kind: 'acquired', lock: { fencingToken: REVISION } });
  });

  test('without a requestId is a re-acquire', () => {
    expect(decideAcquire(lock(), acquire(), known('r1')).outcome).toMatchObject({ kind: 'acquired', reacquired: true });
  });

  test.each([
    ['another owner', { owner: 'ben' }],
    ['another resource', { resource: 'job:2' }],
    ['another requestId', { requestId: 'r2' }],
  ])('by %s is a request of its own', (_, changes) => {
    const { outcome } = decideAcquire(null, acquire({ requestId: 'r1', ...changes }), known('r1'));
    expect(outcome).toMatchObject({ kind: 'acquired', reacquired: false });
  });

  test('with the requestId of another holder answers HELD_BY_ANOTHER', () => {
    const { outcome } = decideAcquire(lock({ owner: 'ben', requestId: 'r1' }), acquire({ requestId: 'r1' }));
    expect(outcome).toMatchObject({ reason: 'HELD_BY_ANOTHER' });
  });
});
