import type { AcquireAllCommand, AcquireCommand, LeaveCommand } from '../locks/commands.js';
import { resourcesOf } from '../locks/commands.js';
import type { LockEvent } from '../locks/events.js';
import type { Lock } from '../locks/lock.js';
import type { Acquired, AcquiredAll, Conflict, Left } from '../locks/outcomes.js';

/** Why a call waits no longer. */
export type WaitEnd = 'granted' | 'timeout' | 'gone' | 'closing';

/** One call that may come to stand in line, and what the log has told of it. */
export class WaitingCall {
  readonly #command: AcquireCommand | AcquireAllCommand;
  readonly resources: readonly string[];
  readonly grants: LockEvent[] = [];
  #end: WaitEnd | Error | null = null;
  #settle: (() => void) | null = null;

  constructor(command: AcquireCommand | AcquireAllCommand) {
    this.#command = command;
    this.resources = resourcesOf(command);
  }

  /** All that it waits for comes in one transaction, but one event after the other. */
  get isGranted(): boolean {
    return this.grants.length === this.resources.length;
  }

  grant(event: LockEvent): void {
    this.grants.push(event);
    if (this.isGranted) this.stop('granted');
  }

  get id(): string {
    return this.#command.wait?.id ?? '';
  }

  get waitMs(): number | null {
    return this.#command.wait?.waitMs ?? null;
  }

  /** It is not known whether it stands in line. */
  get hasFailed(): boolean {
    return this.#end instanceof Error;
  }

  /** Only the first reason counts. */
  stop(end: WaitEnd): void {
    this.#end ??= end;
    this.#settle?.();
  }

  fail(error: Error): void {
    this.#end ??= error;
    this.#settle?.();
  }

  /**
   * Resolves with why it waits no longer.
   *
   * @throws what it failed with
   */
  async wait(caller: AbortSignal): Promise<WaitEnd> {
    if (caller.aborted) this.stop('gone');
    const onAbort = () => this.stop('gone');
    const { waitMs } = this;
    const timer = waitMs === null ? undefined : setTimeout(() => this.stop('timeout'), waitMs);
    caller.addEventListener('abort', onAbort);
    try {
      if (this.#end === null) await new Promise<void>((resolve) => (this.#settle = resolve));
    } finally {
      clearTimeout(timer);
      caller.removeEventListener('abort', onAbort);
    }
    const end = this.#end as WaitEnd | Error;
    if (typeof end === 'string') return end;
    throw end;
  }

  leave(ticket: bigint): LeaveCommand {
    return { kind: 'leave', waiterId: this.id, ticket, resources: this.resources };
  }

  /** To be asked for when it is granted. */
  outcome(): Acquired | AcquiredAll {
    const locks = this.resources.map((resource) => {
      const event = this.grants.find((grant) => grant.resource === resource) as LockEvent;
      return lockOf(event, this.#command.ttlMs);
    });
    const [lock] = locks;
    return this.#command.kind === 'acquire' && lock !== undefined
      ? { kind: 'acquired', lock, reacquired: false }
      : { kind: 'acquired-all', locks };
  }

  timedOut({ blockedBy }: Left): Conflict {
    const current = blockedBy[0] ?? null;
    const resource = current?.resource ?? this.resources[0] ?? '';
    const conflict: Conflict = { kind: 'conflict', reason: 'WAIT_TIMEOUT', resource, current };
    return this.#command.kind === 'acquire' ? conflict : { ...conflict, blockedBy };
  }
}

/** The lock as the event left it. */
function lockOf(event: LockEvent, ttlMs: number): Lock {
  const { resource, owner, fencingToken, revision, acquiredAt, expiresAt, requestId, metadata } = event;
  return {
    resource,
    owner,
    fencingToken,
    revision,
    acquiredAt,
    expiresAt,
    ttlMs,
    requestId,
    reacquired: false,
    metadata,
    expiryRecorded: false,
  };
}
