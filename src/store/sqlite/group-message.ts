import type { LockEvent } from '../../locks/events.js';
import type { Acquired, AcquiredAll, Outcome, Released, ReleasedAll, Renewed, RenewedAll } from '../../locks/outcomes.js';
import type { CommittedGroup } from '../lock-store.js';
import { lockOfValues, toLockValues, type LockValues } from './lock-values.js';

/**
 * A committed group on its way from thread to thread. What there may be thousands of goes as values in a fixed order: with each
 * object the names of its fields would be copied, which takes twice as long as the values.
 */
export interface GroupMessage extends Omit<CommittedGroup, 'outcomes' | 'events'> {
  readonly outcomes: readonly PackedOutcome[];
  readonly events: readonly EventValues[];
}

type PackedOutcome =
  | Exclude<Outcome, Acquired | AcquiredAll | Renewed | RenewedAll | ReleasedAll>
  | Packed<Acquired | Renewed, 'lock', LockValues>
  | Packed<AcquiredAll | RenewedAll, 'locks', LockValues[]>
  | Packed<ReleasedAll, 'released', ReleasedValues[]>;

type Packed<O, Field extends string, Values> = O extends unknown ? Omit<O, Field> & Readonly<Record<Field, Values>> : never;

type EventValues = ReturnType<typeof packEvent>;
type ReleasedValues = ReturnType<typeof packReleased>;

export function pack(group: CommittedGroup): GroupMessage {
  return { ...group, outcomes: group.outcomes.map(packOutcome), events: group.events.map(packEvent) };
}

export function unpack(message: GroupMessage): CommittedGroup {
  return { ...message, outcomes: message.outcomes.map(unpackOutcome), events: message.events.map(unpackEvent) };
}

function packOutcome(outcome: Outcome): PackedOutcome {
  if ('lock' in outcome) return { ...outcome, lock: toLockValues(outcome.lock) };
  if ('locks' in outcome) return { ...outcome, locks: outcome.locks.map(toLockValues) };
  if ('released' in outcome) return { ...outcome, released: outcome.released.map(packReleased) };
  return outcome;
}

function unpackOutcome(packed: PackedOutcome): Outcome {
  if ('lock' in packed) return { ...packed, lock: lockOfValues(packed.lock) };
  if ('locks' in packed) return { ...packed, locks: packed.locks.map(lockOfValues) };
  if ('released' in packed) return { ...packed, released: packed.released.map(unpackReleased) };
  return packed;
}

function packEvent(event: LockEvent) {
  return [
    event.revision,
    event.type,
    event.at,
    event.writtenAt,
    event.resource,
    event.owner,
    event.fencingToken,
    event.acquiredAt,
    event.expiresAt,
    event.requestId,
    event.metadata,
    event.waiterId,
  ] as const;
}

function unpackEvent(values: EventValues): LockEvent {
  const [revision, type, at, writtenAt, resource, owner, fencingToken, acquiredAt, expiresAt, requestId, metadata, waiterId] =
    values;
  return {
    revision,
    type,
    at,
    writtenAt,
    resource,
    owner,
    fencingToken,
    acquiredAt,
    expiresAt,
    requestId,
    metadata,
    waiterId,
  };
}

function packReleased({ resource, fencingToken, releasedAt, revision }: Released) {
  return [resource, fencingToken, releasedAt, revision] as const;
}

function unpackReleased([resource, fencingToken, releasedAt, revision]: ReleasedValues): Released {
  return { kind: 'released', resource, fencingToken, releasedAt, revision };
}
