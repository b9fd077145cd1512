import type { AcquireAllCommand, AcquireCommand, ReleaseCommand, RenewCommand } from '../../src/locks/commands.js';

type AtOnce<C> = C & { readonly wait: null };

export function acquire(resource: string, owner: string, rest: Partial<Omit<AcquireCommand, 'wait'>> = {}): AtOnce<AcquireCommand> {
  return { kind: 'acquire', resource, owner, ttlMs: 30_000, requestId: null, reacquire: true, metadata: null, ...rest, wait: null };
}

export function acquireAll(
  resources: readonly string[],
  owner: string,
  rest: Partial<Omit<AcquireAllCommand, 'wait'>> = {},
): AtOnce<AcquireAllCommand> {
  return { ...acquire('', owner), kind: 'acquire-all', resources, ...rest, wait: null };
}

export function release(resource: string, owner: string, fencingToken: bigint | null = null): ReleaseCommand {
  return { kind: 'release', resource, owner, fencingToken };
}

export function renew(resource: string, owner: string, rest: Partial<RenewCommand> = {}): RenewCommand {
  return { kind: 'renew', resource, owner, fencingToken: null, ttlMs: null, ...rest };
}
