import { acquire, release, renew } from '../../support/commands.js';
import type { AcquireCommand } from '../../../src/locks/commands.js';
import { findViolation } from './checker.js';
import {
  describe,
  type Call,
  type Change,
  type GroupCall,
  type HoldCall,
  type LockSeen,
  type Outage,
  type Question,
  type Told,
} from './history.js';

export const RESOURCE = 'r';

/** A history that somebody tells. */
export type Story = readonly [title: string, tell: (sketch: Sketch) => void];

/** A history that can't be, and what is wrong with it. */
export type WrongStory = readonly [...Story, problem: RegExp];

const TOLERANCE = { commandMs: 2, readMs: 2 };

/** What the checker says of it; null: nothing is wrong. */
export function violationOf(tell: Story[1]): string | null {
  const sketch = new Sketch();
  tell(sketch);
  const violation = findViolation(sketch, sketch.log, TOLERANCE);
  return violation === null ? null : describe(violation);
}

export const LOST: Told = { kind: 'unknown' };

/** When a call was sent and answered; what it changed happened in the middle, unless said otherwise. */
type When = readonly [from: number, to: number];

interface Acquisition extends LockSeen {
  readonly ttlMs: number;
}

type AcquireDetails = Partial<Pick<AcquireCommand, 'ttlMs' | 'requestId' | 'wait'>> & {
  readonly at?: number;
  readonly reacquired?: boolean;
  /** The answer never came. */
  readonly isLost?: boolean;
  /** Left out: {@link RESOURCE}. */
  readonly resource?: string;
};

/**
 * A history and its log, written by hand and believed as they are: nothing here knows what is allowed. Both clocks show the
 * same time.
 */
export class Sketch {
  readonly calls: Call[] = [];
  readonly groups: GroupCall[] = [];
  readonly holds: HoldCall[] = [];
  readonly outages: Outage[] = [];
  readonly log: Change[] = [];

  /** An acquire that the log has. */
  acquire(owner: string, when: When, details: AcquireDetails = {}): Acquisition {
    const {
      ttlMs = 1_000,
      requestId = null,
      wait = null,
      at = middle(when),
      reacquired = false,
      isLost = false,
      resource = RESOURCE,
    } = details;
    const revision = this.nextRevision();
    const metadata = JSON.stringify(requestId ?? this.calls.length);
    const lock = { owner, fencingToken: revision, revision, acquiredAt: at, expiresAt: at + ttlMs, metadata, ttlMs };
    this.change('ACQUIRED', lock, at, resource);
    this.told(
      { ...acquire(resource, owner, { ttlMs, requestId, metadata }), wait },
      when,
      isLost ? LOST : granted(lock, reacquired),
    );
    return lock;
  }

  /** A renewal that the log has. */
  renew(lock: Acquisition, when: When, { at = middle(when), isLost = false } = {}): Acquisition {
    const renewed = { ...lock, revision: this.nextRevision(), expiresAt: Math.max(lock.expiresAt, at + lock.ttlMs) };
    this.change('RENEWED', renewed, at);
    const { owner, fencingToken } = lock;
    this.told(renew(RESOURCE, owner, { fencingToken }), when, isLost ? LOST : { kind: 'renewed', lock: renewed });
    return renewed;
  }

  /** A release that the log has; its answer. */
  release(lock: LockSeen, when: When, { at = middle(when), withToken = true, isLost = false } = {}): Told {
    const { owner, fencingToken } = lock;
    const revision = this.nextRevision();
    this.change('RELEASED', { ...lock, revision }, at);
    const told: Told = { kind: 'released', fencingToken, revision, releasedAt: at };
    this.told(release(RESOURCE, owner, withToken ? fencingToken : null), when, isLost ? LOST : told);
    return told;
  }

  /** The service releases it by itself. */
  giveBack(lock: LockSeen, at: number): void {
    this.change('RELEASED', { ...lock, revision: this.nextRevision() }, at);
  }

  /** The expiry of the lock, in the log. */
  expire(lock: LockSeen): void {
    this.change('EXPIRED', { ...lock, revision: this.nextRevision() }, lock.expiresAt);
  }

  /** An answer that says nothing of a change. */
  read(when: When, lock: LockSeen | null): void {
    this.told({ kind: 'read', resource: RESOURCE }, when, { kind: 'seen', lock });
  }

  refuse(owner: string, when: When, current: LockSeen): void {
    this.told(acquire(RESOURCE, owner), when, { kind: 'conflict', reason: 'HELD_BY_ANOTHER', current });
  }

  told(question: Question, [from, to]: When, told: Told): void {
    const span = { from, to: told.kind === 'unknown' ? Infinity : to };
    this.calls.push({ id: this.calls.length, client: 'client', server: 'S', question, told, span, wall: span });
  }

  /** A change in the log that no call is told of; the lock that it leaves. */
  change(type: Change['type'], lock: LockSeen, at: number, resource = RESOURCE): LockSeen {
    const { owner, fencingToken, revision, acquiredAt, expiresAt, metadata } = lock;
    const isOver = type === 'RELEASED' || type === 'EXPIRED';
    const seen = { owner, fencingToken, revision, acquiredAt: isOver ? null : acquiredAt, expiresAt, metadata };
    this.log.push({ type, resource, at, ...seen });
    return lock;
  }

  nextRevision(): bigint {
    return BigInt(this.log.length + 1);
  }
}

/** The acquire that a {@link Sketch} sends under that requestId. */
export function requested(owner: string, requestId: string): AcquireCommand {
  return acquire(RESOURCE, owner, { ttlMs: 1_000, requestId, metadata: JSON.stringify(requestId) });
}

export function granted(lock: LockSeen, reacquired = false): Told {
  return { kind: 'acquired', lock, reacquired };
}

function middle([from, to]: When): number {
  return (from + to) / 2;
}
