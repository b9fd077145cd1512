import { resourcesOfAll, type AcquireAllCommand, type AcquireCommand, type Command } from '../../../src/locks/commands.js';
import { decideGroup } from '../../../src/locks/decide-group.js';
import type { GroupDecision } from '../../../src/locks/group.js';
import type { LockEvent } from '../../../src/locks/events.js';
import { isHeld, type Lock } from '../../../src/locks/lock.js';
import type { Outcome, Released } from '../../../src/locks/outcomes.js';
import type { Waiter } from '../../../src/locks/waiter.js';
import { RetryMemory } from '../../../src/locks/retries.js';
import type { SeededRandom } from '../random.js';
import type { AnyTold } from '../questions.js';
import type { Change, LockSeen, ReleaseSeen } from './history.js';

const COMMIT_MS = 5;
const SWEEP_MS = 20;

type Submission = readonly [command: Command, resolve: (outcome: Outcome) => void];
type Acquire = AcquireCommand | AcquireAllCommand;

/** A call that may stand in line. */
interface WaitingCall {
  readonly command: Acquire;
  readonly resolve: (told: AnyTold) => void;
  readonly grants: LockEvent[];
  isGone: boolean;
}

interface Entry {
  readonly at: number;
  readonly act: () => void;
}

/** Things that happen at moments of a time that nobody waits for. */
export class Agenda {
  now = 1_000_000;
  readonly #entries: Entry[] = [];

  after(ms: number, act: () => void): void {
    this.#entries.push({ at: this.now + ms, act });
  }

  /** Lets everything happen, in its order, until nothing is left or the time has come. */
  runUntil(end: number): void {
    for (;;) {
      const [first] = this.#entries;
      if (first === undefined) return;
      const next = this.#entries.reduce((one, other) => (other.at < one.at ? other : one), first);
      if (next.at > end) return;
      this.#entries.splice(this.#entries.indexOf(next), 1);
      this.now = next.at;
      next.act();
    }
  }
}

/**
 * The service as its rules describe it, in no time: commands are decided in groups, by the time at which the group begins,
 * and seen when it is committed; reads know nothing of groups under way.
 */
export class SimulatedService {
  readonly log: Change[] = [];
  readonly #agenda: Agenda;
  readonly #random: SeededRandom;
  readonly #rows = new Map<string, Lock>();
  readonly #retries = new RetryMemory();
  readonly #calls = new Map<string, WaitingCall>();
  #waiters: Waiter[] = [];
  #ticket = 0n;
  #lastId = 0;
  #queue: Submission[] = [];
  #isCommitting = false;

  constructor(agenda: Agenda, random: SeededRandom) {
    this.#agenda = agenda;
    this.#random = random;
    this.#sweep();
  }

  /** @returns how its caller goes away, which nobody is told any answer then */
  submit(command: Command, resolve: (told: AnyTold) => void): () => void {
    if ((command.kind === 'acquire' || command.kind === 'acquire-all') && command.wait !== null)
      return this.#wait(command, resolve);
    this.#submit(command, (outcome) => {
      resolve(toTold(command, outcome));
    });
    return () => undefined;
  }

  /** Judges by the time at which it is asked, and looks a little later. */
  read(resource: string, resolve: (told: AnyTold) => void): void {
    const now = Math.floor(this.#agenda.now);
    this.#agenda.after(this.#random.between(0, 2), () => {
      const row = this.#rows.get(resource);
      resolve({ kind: 'seen', lock: row !== undefined && isHeld(row, now) && !row.expiryRecorded ? seen(row) : null });
    });
  }

  #wait(command: Acquire, resolve: (told: AnyTold) => void): () => void {
    const wait = { waitMs: null, detectDeadlock: false, ...command.wait, id: String(++this.#lastId), instance: 'S' };
    const call: WaitingCall = { command, resolve, grants: [], isGone: false };
    this.#calls.set(wait.id, call);
    this.#submit({ ...command, wait }, (outcome) => {
      if (outcome.kind !== 'queued') {
        this.#calls.delete(wait.id);
        resolve(toTold(command, outcome));
        return;
      }
      if (outcome.replaced !== null) this.#answer(outcome.replaced, { kind: 'unknown' });
      this.#agenda.after(wait.waitMs ?? Infinity, () => this.#leave(wait.id, outcome.ticket));
      if (call.isGone) this.#leave(wait.id, outcome.ticket);
    });
    return () => (call.isGone = true);
  }

  #leave(waiterId: string, ticket: bigint): void {
    const call = this.#calls.get(waiterId);
    if (call === undefined) return;
    const resources = 'resources' in call.command ? call.command.resources : [call.command.resource];
    this.#submit({ kind: 'leave', waiterId, ticket, resources }, (outcome) => {
      if (outcome.kind !== 'left') return;
      const { blockedBy } = outcome;
      const [current = null] = blockedBy;
      const refusal = { reason: 'WAIT_TIMEOUT', current, resource: current?.resource ?? resources[0] ?? '' } as const;
      const timedOut: Outcome = { kind: 'conflict', ...refusal, blockedBy };
      this.#answer(waiterId, toTold(call.command, timedOut));
    });
  }

  /** Somebody had its turn: it is told so, or it is undone. */
  #grant(event: LockEvent): void {
    const call = this.#calls.get(event.waiterId ?? '');
    if (call === undefined) return;
    call.grants.push(event);
    const { command, grants } = call;
    if (command.kind === 'acquire-all' && grants.length < command.resources.length) return;
    if (call.isGone && command.requestId === null) {
      for (const { resource, owner, fencingToken } of grants) {
        this.#submit({ kind: 'release', resource, owner, fencingToken }, () => undefined);
      }
    }
    const locks = new Map(grants.map((grant) => [grant.resource, seen(grant)]));
    const told: AnyTold =
      command.kind === 'acquire-all' ? { kind: 'acquired-all', locks } : { kind: 'acquired', lock: seen(event), reacquired: false };
    this.#answer(event.waiterId ?? '', told);
  }

  #answer(waiterId: string, told: AnyTold): void {
    this.#calls.get(waiterId)?.resolve(told);
    this.#calls.delete(waiterId);
  }

  #submit(command: Command, resolve: Submission[1]): void {
    this.#queue.push([command, resolve]);
    this.#flush();
  }

  #sweep(): void {
    const now = Math.floor(this.#agenda.now);
    const expired = [...this.#rows.values()].filter((row) => !row.expiryRecorded && !isHeld(row, now));
    const due = [...expired.map(({ resource }) => resource), ...this.#waiters.flatMap(({ resources }) => resources)];
    for (const resource of new Set(due)) this.#submit({ kind: 'expire', resource }, () => undefined);
    this.#agenda.after(this.#random.between(0, SWEEP_MS), () => {
      this.#sweep();
    });
  }

  #flush(): void {
    if (this.#isCommitting || this.#queue.length === 0) return;
    this.#isCommitting = true;
    const group = this.#queue;
    this.#queue = [];
    const { outcomes, events, changedRows, joined, left } = this.#decide(group.map(([command]) => command));
    this.#agenda.after(this.#random.between(0, COMMIT_MS), () => {
      this.#isCommitting = false;
      this.log.push(...events.map(toChange));
      for (const [resource, row] of changedRows) {
        if (row === null) this.#rows.delete(resource);
        else this.#rows.set(resource, row);
      }
      for (const event of events) this.#retries.learn(event);
      this.#waiters = [...this.#waiters.filter(({ id }) => !left.some((gone) => gone.id === id)), ...joined];
      this.#waiters.sort((one, other) => Number(one.ticket - other.ticket));
      for (const { ticket } of joined) if (ticket > this.#ticket) this.#ticket = ticket;
      for (const [index, [, resolve]] of group.entries()) resolve(outcomes[index] as Outcome);
      for (const event of events) if (event.waiterId !== null) this.#grant(event);
      this.#flush();
    });
  }

  #decide(commands: readonly Command[]): GroupDecision {
    const now = Math.floor(this.#agenda.now);
    const live = this.#waiters.filter(({ deadline }) => deadline > now);
    const asking = commands.filter((command) => 'owner' in command);
    const owners = new Set([...this.#rows.values(), ...live, ...asking].map(({ owner }) => owner));
    const resources = new Set([...resourcesOfAll(commands), ...this.#rows.keys(), ...live.flatMap((waiter) => waiter.resources)]);
    const lineOf = (resource: string) => live.filter((waiter) => waiter.resources.includes(resource));
    const standing = {
      lines: new Map([...resources].map((resource) => [resource, { waiters: lineOf(resource), isWhole: true }])),
      byOwner: new Map([...owners].map((owner) => [owner, live.filter((waiter) => waiter.owner === owner)])),
      named: this.#waiters,
    };
    const revision = BigInt(this.log.length);
    return decideGroup({ revision, now, rows: this.#rows, retries: this.#retries, ticket: this.#ticket, standing }, commands);
  }
}

function seen({ owner, fencingToken, revision, acquiredAt, expiresAt, metadata }: Lock | LockEvent): LockSeen {
  return { owner, fencingToken, revision, acquiredAt, expiresAt, metadata };
}

function toChange({ type, resource, at, owner, fencingToken, revision, acquiredAt, expiresAt, metadata }: LockEvent): Change {
  const isOver = type === 'RELEASED' || type === 'EXPIRED';
  return { type, resource, at, owner, fencingToken, revision, acquiredAt: isOver ? null : acquiredAt, expiresAt, metadata };
}

function toTold({ kind }: Command, outcome: Outcome): AnyTold {
  switch (outcome.kind) {
    case 'acquired':
      return { kind: 'acquired', lock: seen(outcome.lock), reacquired: outcome.reacquired };
    case 'renewed':
      return { kind: 'renewed', lock: seen(outcome.lock) };
    case 'released':
      return { kind: 'released', ...releaseSeen(outcome) };
    case 'not-found':
      return { kind: 'not-found' };
    case 'forbidden':
      return { kind: 'forbidden', current: seen(outcome.current) };
    case 'conflict': {
      const { reason, resource, current, blockedBy } = outcome;
      if (kind !== 'acquire-all') return { kind: 'conflict', reason, current: current === null ? null : seen(current) };
      return { kind: 'refused-all', reason, resource, blockedBy: allSeen(blockedBy ?? (current === null ? [] : [current])) };
    }
    case 'acquired-all':
      return { kind: 'acquired-all', locks: allSeen(outcome.locks) };
    case 'renewed-all':
      return { kind: 'renewed-all', locks: allSeen(outcome.locks), lost: outcome.lost };
    case 'released-all': {
      const { released, notHeld } = outcome;
      return { kind: 'released-all', released: new Map(released.map((one) => [one.resource, releaseSeen(one)])), notHeld };
    }
    case 'queued':
    case 'left':
    case 'not-in-line':
    case 'settled':
      return { kind: 'not-done' };
  }
}

function allSeen(locks: readonly Lock[]): Map<string, LockSeen> {
  return new Map(locks.map((lock) => [lock.resource, seen(lock)]));
}

function releaseSeen({ fencingToken, revision, releasedAt }: Released): ReleaseSeen {
  return { fencingToken, revision, releasedAt };
}
