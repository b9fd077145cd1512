import type { AcquireAllCommand, AcquireCommand, ReleaseCommand, RenewCommand } from '../../src/locks/commands.js';

export function acquire(resource: string, owner: string, rest: Partial<AcquireCommand> = {}): AcquireCommand {
  return { kind: 'acquire', resource, owner, ttlMs: 30_000, requestId: null, reacquire: true, metadata: null, wait: null, ...rest };
}

export function acquireAll(resources: readonly string[], owner: string, rest: Partial<AcquireAllCommand> = {}): AcquireAllCommand {
  const acquisition = { ttlMs: 30_000, requestId: null, reacquire: true, metadata: null, wait: null };
  return { kind: 'acquire-all', resources, owner, ...acquisition, ...rest };
}

export function release(resource: string, owner: string, fencingToken: bigint | null = null): ReleaseCommand {
  return { kind: 'release', resource, owner, fencingToken };
}

export function renew(resource: string, owner: string, rest: Partial<RenewCommand> = {}): RenewCommand {
  return { kind: 'renew', resource, owner, fencingToken: null, ttlMs: null, ...rest };
}
