import type {
  AcquireAllCommand,
  AcquireCommand,
  ExpireCommand,
  ReleaseAllCommand,
  ReleaseCommand,
  RenewAllCommand,
  RenewCommand,
  Wait,
} from '../../src/locks/commands.js';
import type { LockEvent } from '../../src/locks/events.js';
import type { Lock } from '../../src/locks/lock.js';
import { RetryMemory } from '../../src/locks/retries.js';

/** The moment at which the decisions of these tests are made. */
export const NOW = 1_000_000;

/** The revision that the event of such a decision gets. */
export const REVISION = 50n;

/** Held by anna for another 10 seconds, under token 7. */
export function lock(changes: Partial<Lock> = {}): Lock {
  return {
    resource: 'job:1',
    owner: 'anna',
    fencingToken: 7n,
    revision: 9n,
    acquiredAt: NOW - 5_000,
    expiresAt: NOW + 10_000,
    ttlMs: 15_000,
    requestId: null,
    reacquired: false,
    metadata: null,
    expiryRecorded: false,
    ...changes,
  };
}

/** A lock that expired a second ago, with its EXPIRED in the log. */
export function expiredLock(changes: Partial<Lock> = {}): Lock {
  return lock({ expiresAt: NOW - 1_000, expiryRecorded: true, ...changes });
}

export function acquire(changes: Partial<AcquireCommand> = {}): AcquireCommand {
  return {
    kind: 'acquire',
    resource: 'job:1',
    owner: 'anna',
    ttlMs: 30_000,
    requestId: null,
    reacquire: true,
    metadata: null,
    wait: null,
    ...changes,
  };
}

export function acquireAll(resources: readonly string[], changes: Partial<AcquireAllCommand> = {}): AcquireAllCommand {
  return {
    kind: 'acquire-all',
    resources,
    owner: 'anna',
    ttlMs: 30_000,
    requestId: null,
    reacquire: true,
    metadata: null,
    wait: null,
    ...changes,
  };
}

/** For ten seconds. */
export function waiting(id: string, changes: Partial<Wait> = {}): Wait {
  return { id, instance: 'instance 1', waitMs: 10_000, detectDeadlock: false, ...changes };
}

export function release(changes: Partial<ReleaseCommand> = {}): ReleaseCommand {
  return { kind: 'release', resource: 'job:1', owner: 'anna', fencingToken: null, ...changes };
}

export function releaseAll(resources: readonly string[], changes: Partial<ReleaseAllCommand> = {}): ReleaseAllCommand {
  return { kind: 'release-all', owner: 'anna', locks: resources.map(withoutToken), ...changes };
}

export function renewAll(resources: readonly string[], changes: Partial<RenewAllCommand> = {}): RenewAllCommand {
  return { kind: 'renew-all', owner: 'anna', locks: resources.map(withoutToken), ttlMs: null, ...changes };
}

function withoutToken(resource: string) {
  return { resource, fencingToken: null };
}

export function expire(resource: string): ExpireCommand {
  return { kind: 'expire', resource };
}

export function renew(changes: Partial<RenewCommand> = {}): RenewCommand {
  return { kind: 'renew', resource: 'job:1', owner: 'anna', fencingToken: null, ttlMs: null, ...changes };
}

export function lockEvent(changes: Partial<LockEvent> = {}): LockEvent {
  return {
    revision: 7n,
    type: 'ACQUIRED',
    at: NOW - 5_000,
    writtenAt: NOW - 5_000,
    resource: 'job:1',
    owner: 'anna',
    fencingToken: 7n,
    acquiredAt: NOW - 5_000,
    expiresAt: NOW + 10_000,
    requestId: null,
    metadata: null,
    waiterId: null,
    ...changes,
  };
}

export function remembering(...events: readonly LockEvent[]): RetryMemory {
  const memory = new RetryMemory();
  for (const event of events) memory.learn(event);
  return memory;
}
