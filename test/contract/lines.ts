import { expect } from 'vitest';
import type { AcquireAllCommand, AcquireCommand, LeaveCommand, Wait } from '../../src/locks/commands.js';
import type { LockEvent } from '../../src/locks/events.js';
import type { Queued } from '../../src/locks/outcomes.js';
import { INSTANCE_LEASE_MS } from '../../src/store/instance-lease.js';
import type { LockStore } from '../../src/store/lock-store.js';
import { acquire } from '../support/commands.js';
import { everything } from './store-fixture.js';

/** Shorter than the lease of an instance: whoever waits in these tests does so while its instance is alive. */
export const WAIT_MS = INSTANCE_LEASE_MS - 1000;

export type Waiting = Partial<Omit<AcquireCommand, 'wait'>> & Partial<Wait>;

/** An acquire that waits, as the call `owner`, where it is given no other id. */
export function wait(resource: string, owner: string, rest: Waiting = {}): AcquireCommand {
  const { id = owner, instance = 'one', waitMs = WAIT_MS, detectDeadlock = false, ...command } = rest;
  return { ...acquire(resource, owner, command), wait: { id, instance, waitMs, detectDeadlock } };
}

export function waitForAll(resources: readonly string[], owner: string, rest: Waiting = {}): AcquireAllCommand {
  const { ttlMs, requestId, reacquire, metadata, wait: how } = wait('', owner, rest);
  return { kind: 'acquire-all', resources, owner, ttlMs, requestId, reacquire, metadata, wait: how };
}

export function leave(owner: string, ticket: bigint, ...resources: readonly string[]): LeaveCommand {
  return { kind: 'leave', waiterId: owner, ticket, resources };
}

/** Stands in line: the call's ticket. */
export async function join(store: LockStore, command: AcquireCommand | AcquireAllCommand): Promise<bigint> {
  const { outcomes, events } = await store.commit([command]);
  expect(outcomes).toMatchObject([{ kind: 'queued' }]);
  expect(events).toEqual([]);
  return (outcomes[0] as Queued).ticket;
}

/** `TYPE resource owner`, and the waiter whose turn it was. */
export function brief({ type, resource, owner, waiterId }: LockEvent): string {
  return `${type} ${resource} ${owner}${waiterId === null ? '' : ` for ${waiterId}`}`;
}

/** The log above that revision. */
export async function logAfter(store: LockStore, revision: bigint): Promise<string[]> {
  return (await store.readLog(revision, 10_000, everything)).events.map(brief);
}
