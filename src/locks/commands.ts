/** Takes the lock, or takes it again. Inputs are already checked: names, TTL and metadata are within their limits. */
export interface AcquireCommand {
  readonly kind: 'acquire';
  readonly resource: string;
  readonly owner: string;
  readonly ttlMs: number;
  /** Makes the acquire safe to repeat; null: a repetition is a new acquire. */
  readonly requestId: string | null;
  /** false: refuse where this owner already holds the lock. */
  readonly reacquire: boolean;
  /** JSON text, or null for none. */
  readonly metadata: string | null;
  /** null: be answered at once. */
  readonly wait: Wait | null;
}

/** Takes all the locks or none of them. No name comes twice. */
export interface AcquireAllCommand extends Omit<AcquireCommand, 'kind' | 'resource'> {
  readonly kind: 'acquire-all';
  readonly resources: readonly string[];
}

/** How a call stands in line, where it can't be granted at once. */
export interface Wait {
  /** See {@link Waiter}: the same for a command that is repeated. */
  readonly id: string;
  readonly instance: string;
  /** null: for as long as it takes. */
  readonly waitMs: number | null;
  /** Refuse where waiting would close a circle of owners that wait for each other. */
  readonly detectDeadlock: boolean;
}

export interface ReleaseCommand {
  readonly kind: 'release';
  readonly resource: string;
  readonly owner: string;
  /** The second proof of ownership; null: the owner alone is enough. */
  readonly fencingToken: bigint | null;
}

export interface RenewCommand {
  readonly kind: 'renew';
  readonly resource: string;
  readonly owner: string;
  readonly fencingToken: bigint | null;
  /** From now on; null: the TTL the lock was acquired with. */
  readonly ttlMs: number | null;
}

/** One of the locks that an owner says it holds. */
export interface NamedLock {
  readonly resource: string;
  readonly fencingToken: bigint | null;
}

/** Releases each of the locks that it can. No name comes twice. */
export interface ReleaseAllCommand {
  readonly kind: 'release-all';
  readonly owner: string;
  readonly locks: readonly NamedLock[];
}

/** Renews each of the locks that it can. No name comes twice. */
export interface RenewAllCommand {
  readonly kind: 'renew-all';
  readonly owner: string;
  readonly locks: readonly NamedLock[];
  readonly ttlMs: number | null;
}

/**
 * Records a passed expiry, if the lock has one that is not recorded yet, and hands the lock on where it is free and somebody
 * stands in line for it. What the sweeper sends.
 */
export interface ExpireCommand {
  readonly kind: 'expire';
  readonly resource: string;
}

/** Gives up a place in line. */
export interface LeaveCommand {
  readonly kind: 'leave';
  readonly waiterId: string;
  readonly ticket: bigint;
  /** Those it stands in line for. */
  readonly resources: readonly string[];
}

export type Command =
  | AcquireCommand
  | AcquireAllCommand
  | ReleaseCommand
  | ReleaseAllCommand
  | RenewCommand
  | RenewAllCommand
  | ExpireCommand
  | LeaveCommand;

/** What the command is about: nothing else is looked at to decide it, unless somebody stands in line. */
export function resourcesOf(command: Command): readonly string[] {
  switch (command.kind) {
    case 'acquire':
    case 'release':
    case 'renew':
    case 'expire':
      return [command.resource];
    case 'acquire-all':
    case 'leave':
      return command.resources;
    case 'release-all':
    case 'renew-all':
      return command.locks.map(({ resource }) => resource);
  }
}

/** What all of them are about, each once. */
export function resourcesOfAll(commands: readonly Command[]): string[] {
  const resources = new Set<string>();
  for (const command of commands) for (const resource of resourcesOf(command)) resources.add(resource);
  return [...resources];
}
