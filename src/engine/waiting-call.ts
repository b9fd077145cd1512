import { resourcesOf, type AcquireAllCommand, type AcquireCommand, type LeaveCommand } from '../locks/commands.js';
import type { LockEvent } from '../locks/events.js';
import { lockOf } from '../locks/lock.js';
import type { Acquired, AcquiredAll, Conflict, Left } from '../locks/outcomes.js';
import type { CallerPresence } from './caller-presence.js';

/** Why a call waits no longer. */
export type WaitEnd = 'granted' | 'timeout' | 'gone' | 'closing' | 'taken-over' | 'lost';

/** Shared by all that have none yet. */
const NONE: LockEvent[] = [];

/** One call that may come to stand in line, and what the log has told of it. There may be very many: it is kept small. */
export class WaitingCall {
  readonly id: string;
  readonly resources: readonly string[];
  readonly #command: AcquireCommand | AcquireAllCommand;
  readonly #caller: CallerPresence;
  readonly #onEnd: (call: WaitingCall, end: WaitEnd) => void;
  #grants = NONE;
  #ticket: bigint | null = null;
  #timer: NodeJS.Timeout | null = null;
  #end: WaitEnd | null = null;
  /** By `performance.now()`. */
  #queuedAt = 0;

  /** @param onEnd called once, when it stands in line and there is a reason not to */
  constructor(
    command: AcquireCommand | AcquireAllCommand,
    id: string,
    caller: CallerPresence,
    onEnd: (call: WaitingCall, end: WaitEnd) => void,
  ) {
    this.id = id;
    this.resources = resourcesOf(command);
    this.#command = command;
    this.#caller = caller;
    this.#onEnd = onEnd;
  }

  get grants(): readonly LockEvent[] {
    return this.#grants;
  }

  /** All that it waits for comes in one transaction, but one event after the other. */
  get isGranted(): boolean {
    return this.#grants.length === this.resources.length;
  }

  /** Or did, before its turn came or it left. */
  get isInLine(): boolean {
    return this.#ticket !== null;
  }

  get hasCaller(): boolean {
    return !this.#caller.aborted;
  }

  get waitMs(): number | null {
    return this.#command.wait?.waitMs ?? null;
  }

  get waitedMs(): number {
    return performance.now() - this.#queuedAt;
  }

  grant(event: LockEvent): void {
    if (this.#grants === NONE) this.#grants = [];
    this.#grants.push(event);
    if (this.isGranted) this.stop('granted');
  }

  /** It stands in line, if nothing has stopped it before. */
  queue(ticket: bigint): void {
    this.#ticket = ticket;
    this.#queuedAt = performance.now();
    if (this.#caller.aborted) this.#end ??= 'gone';
    if (this.#end !== null) {
      this.#onEnd(this, this.#end);
      return;
    }
    this.#caller.addEventListener('abort', this.#leaveCaller);
    if (this.waitMs !== null) this.#timer = setTimeout(stopForTime, this.waitMs, this);
  }

  /** Only the first reason counts. */
  stop(end: WaitEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    if (this.#ticket === null) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#leaveCaller);
    this.#onEnd(this, end);
  }

  leave(): LeaveCommand {
    return { kind: 'leave', waiterId: this.id, ticket: this.#ticket ?? 0n, resources: this.resources };
  }

  /** To be asked for when it is granted. */
  outcome(): Acquired | AcquiredAll {
    const granted = new Map(this.#grants.map((event) => [event.resource, lockOf(event, this.#command.ttlMs)]));
    const locks = this.resources.flatMap((resource) => granted.get(resource) ?? []);
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

  readonly #leaveCaller = (): void => this.stop('gone');
}

function stopForTime(call: WaitingCall): void {
  call.stop('timeout');
}
