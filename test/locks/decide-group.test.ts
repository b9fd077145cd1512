import { describe, expect, test } from 'vitest';
import type { Command } from '../../src/locks/commands.js';
import { decideGroup } from '../../src/locks/decide-group.js';
import type { Lock } from '../../src/locks/lock.js';
import { acquire, expiredLock, lock, lockEvent, NOW, release, remembering, renew } from '../support/lock-values.js';

const stateOf = (rows: readonly Lock[], retries = remembering()) => ({
  revision: 100n,
  now: NOW,
  rows: new Map(rows.map((row) => [row.resource, row])),
  retries,
  ticket: 0n,
  standing: null,
});

const decideAll = (rows: readonly Lock[], commands: readonly Command[], retries = remembering()) =>
  decideGroup(stateOf(rows, retries), commands);

const brief = ({ events }: ReturnType<typeof decideGroup>) =>
  events.map(({ revision, type, resource, owner }) => `${revision} ${type} ${resource} ${owner}`);

describe('a group', () => {
  test('without commands decides nothing', () => {
    expect(decideAll([lock()], [])).toEqual({ outcomes: [], events: [], changedRows: new Map(), joined: [], left: [] });
  });

  test('answers each command in its place', () => {
    const { outcomes } = decideAll(
      [],
      [acquire(), acquire({ owner: 'ben' }), renew(), release({ owner: 'ben' }), release(), release()],
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(['acquired', 'conflict', 'renewed', 'forbidden', 'released', 'not-found']);
  });

  test('of refusals changes no row and writes no event', () => {
    const { events, changedRows } = decideAll(
      [lock()],
      [acquire({ owner: 'ben' }), release({ owner: 'ben' }), renew({ fencingToken: 1n })],
    );
    expect(events).toEqual([]);
    expect(changedRows).toEqual(new Map());
  });

  test('numbers its events without a gap from the revision after the newest, past the commands that change nothing', () => {
    const group = decideAll([], [acquire(), acquire({ owner: 'ben' }), release(), release(), acquire({ owner: 'ben' })]);
    expect(brief(group)).toEqual(['101 ACQUIRED job:1 anna', '102 RELEASED job:1 anna', '103 ACQUIRED job:1 ben']);
  });

  test('gives each acquisition the revision of its ACQUIRED as its token', () => {
    const { events } = decideAll(
      [],
      [acquire({ resource: 'job:1' }), acquire({ resource: 'job:2' }), acquire({ resource: 'job:1' })],
    );
    expect(events.map(({ fencingToken }) => fencingToken)).toEqual([101n, 102n, 103n]);
  });

  test('folds several commands on one resource into its final row', () => {
    const { changedRows } = decideAll([], [acquire({ ttlMs: 1_000 }), renew({ ttlMs: 5_000 }), renew({ ttlMs: 9_000 })]);
    expect([...changedRows]).toEqual([
      ['job:1', expect.objectContaining({ fencingToken: 101n, revision: 103n, expiresAt: NOW + 9_000 })],
    ]);
  });

  test('that acquires and releases a resource leaves it without a row', () => {
    const { changedRows } = decideAll([], [acquire(), release()]);
    expect([...changedRows]).toEqual([['job:1', null]]);
  });

  test('that releases and acquires a resource leaves the row of the later acquisition', () => {
    const { outcomes, changedRows } = decideAll([lock()], [release(), acquire({ owner: 'ben' })]);
    expect(outcomes).toMatchObject([{ kind: 'released' }, { kind: 'acquired', reacquired: false }]);
    expect(changedRows.get('job:1')).toMatchObject({ owner: 'ben', fencingToken: 102n });
  });

  test('keeps the locks of its resources apart', () => {
    const { outcomes, changedRows } = decideAll(
      [lock({ resource: 'job:1' }), lock({ resource: 'job:2', owner: 'ben' })],
      [release({ resource: 'job:1' }), release({ resource: 'job:2' }), acquire({ resource: 'job:3' })],
    );
    expect(outcomes).toMatchObject([{ kind: 'released' }, { kind: 'forbidden' }, { kind: 'acquired' }]);
    expect([...changedRows.keys()]).toEqual(['job:1', 'job:3']);
  });

  test('leaves the state that it was given as it was', () => {
    const state = stateOf([lock()]);
    decideGroup(state, [release(), acquire({ requestId: 'r1' })]);
    expect(state).toEqual(stateOf([lock()]));
  });
});

describe('a group that finds a passed expiry', () => {
  const overdue = expiredLock({ owner: 'ben', expiryRecorded: false });

  test('writes its EXPIRED once, before the first command', () => {
    const group = decideAll([overdue], [acquire({ resource: 'job:2' }), acquire(), acquire({ owner: 'ben' })]);
    expect(brief(group)).toEqual(['101 EXPIRED job:1 ben', '102 ACQUIRED job:2 anna', '103 ACQUIRED job:1 anna']);
    expect(group.events[0]).toMatchObject({ at: overdue.expiresAt, writtenAt: NOW });
  });

  test('writes it also where the command is refused', () => {
    const group = decideAll([overdue], [renew({ owner: 'ben' })]);
    expect(group.outcomes).toMatchObject([{ kind: 'conflict', reason: 'EXPIRED' }]);
    expect(brief(group)).toEqual(['101 EXPIRED job:1 ben']);
    expect(group.changedRows.get('job:1')).toEqual({ ...overdue, revision: 101n, expiryRecorded: true });
  });

  test('writes one for each such resource, in the order in which they are named', () => {
    const second = { ...overdue, resource: 'job:2' };
    const group = decideAll(
      [overdue, second],
      [
        { kind: 'expire', resource: 'job:2' },
        { kind: 'expire', resource: 'job:1' },
      ],
    );
    expect(group.outcomes).toEqual([
      { kind: 'settled', resource: 'job:2' },
      { kind: 'settled', resource: 'job:1' },
    ]);
    expect(brief(group)).toEqual(['101 EXPIRED job:2 ben', '102 EXPIRED job:1 ben']);
  });

  test('writes none where it is recorded', () => {
    expect(decideAll([expiredLock()], [{ kind: 'expire', resource: 'job:1' }]).events).toEqual([]);
  });

  test('writes none where the lock was renewed meanwhile', () => {
    expect(decideAll([lock()], [{ kind: 'expire', resource: 'job:1' }]).events).toEqual([]);
  });
});

describe('a group that holds a request and its retry', () => {
  test('answers the retried acquire with the same acquisition', () => {
    const { outcomes, events } = decideAll([], [acquire({ requestId: 'r1' }), acquire({ requestId: 'r1' })]);
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(events).toHaveLength(1);
  });

  test('answers the retried acquire with REQUEST_SPENT after the release between them', () => {
    const { outcomes } = decideAll([], [acquire({ requestId: 'r1' }), release(), acquire({ requestId: 'r1' })]);
    expect(outcomes[2]).toMatchObject({ kind: 'conflict', reason: 'REQUEST_SPENT', current: null });
  });

  test('answers the retried release with the same release', () => {
    const { outcomes, events } = decideAll([lock()], [release({ fencingToken: 7n }), release({ fencingToken: 7n })]);
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(events).toHaveLength(1);
  });

  test('answers the retried release with the same release after another owner acquired between them', () => {
    const { outcomes, changedRows } = decideAll(
      [lock()],
      [release({ fencingToken: 7n }), acquire({ owner: 'ben' }), release({ fencingToken: 7n })],
    );
    expect(outcomes[2]).toEqual(outcomes[0]);
    expect(changedRows.get('job:1')).toMatchObject({ owner: 'ben' });
  });

  test('knows the events of earlier groups, too', () => {
    const { outcomes } = decideAll(
      [],
      [release({ fencingToken: 7n })],
      remembering(lockEvent({ type: 'RELEASED', revision: 20n })),
    );
    expect(outcomes).toMatchObject([{ kind: 'released', revision: 20n }]);
  });
});
