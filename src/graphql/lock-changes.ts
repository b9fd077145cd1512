import type { Bookmark, Snapshot, SnapshotReason, WatchRequest } from '../engine/watch.js';
import { toEventRecord, toLockRecord } from '../store/reads/records.js';
import { builder } from './builder.js';
import { badUserInput } from './errors.js';
import { fromDigits, optionalRevisionInput, selectorInput } from './inputs.js';
import { LockRef } from './lock.js';
import { LockEventRef, LockEventTypeRef } from './lock-event.js';
import { tellPositions } from './stream-position.js';

const LockWatchFilter = builder.inputType('LockWatchFilter', {
  description:
    'Which changes to tell: resource and prefix exclude each other; what is left out or null does not narrow. A snapshot is not narrowed by types.',
  fields: (t) => ({
    resource: t.string({ description: 'Of the lock with exactly this name.' }),
    prefix: t.string({ description: 'Of names that begin with exactly these characters; no wildcards.' }),
    owner: t.string({ description: 'Of locks that this owner holds, or held.' }),
    types: t.field({ type: [LockEventTypeRef], description: 'Events of one of these types; an empty list admits none.' }),
  }),
});

const SnapshotReasonRef = builder.enumType('SnapshotReason', {
  description: 'Why a snapshot is sent; more reasons may come, so keep a default branch.',
  values: {
    STARTED: { description: 'The watch has begun.' },
    GAP: { description: 'The revisions after the one you named are no longer kept: events were missed.' },
    RESET: {
      description: 'The revision you named belongs to another history: the database was restored, or it lies in the future.',
    },
  } satisfies Record<SnapshotReason, object>,
});

const LockSnapshot = builder.objectRef<Snapshot>('LockSnapshot').implement({
  description:
    "What is held: every lock as it was at `revision` or later (its own revision says which); the events from `revision` + 1 follow, and one whose revision is not above that of the lock you have is already in it. Large snapshots come in parts: forget what you knew at part 1, resume only from one that is complete. A lock past its expiry is left out, so the RELEASED or EXPIRED of a lock you don't know is nothing to worry about.",
  fields: (t) => ({
    logId: t.exposeID('logId', { description: 'Which history the revision belongs to.' }),
    revision: t.expose('revision', { type: 'BigInt', description: 'The events after this revision follow the snapshot.' }),
    reason: t.expose('reason', {
      type: SnapshotReasonRef,
      description: 'Why it is sent; more reasons may come, so keep a default branch.',
    }),
    part: t.exposeInt('part', { description: 'Which part of the snapshot this is, from 1 on.' }),
    complete: t.exposeBoolean('complete', { description: 'Whether this is the last part.' }),
    locks: t.field({
      type: [LockRef],
      description: 'The locks of this part, by name.',
      resolve: ({ locks }) => locks.map(toLockRecord),
    }),
  }),
});

const LockBookmark = builder.objectRef<Bookmark>('LockBookmark').implement({
  description: 'Nothing you watch has changed up to this revision; resume from here. Sent now and then on quiet watches.',
  fields: (t) => ({
    logId: t.exposeID('logId', { description: 'Which history the revision belongs to.' }),
    revision: t.expose('revision', { type: 'BigInt', description: 'Everything up to here has been told.' }),
  }),
});

const LockChange = builder.unionType('LockChange', {
  description: 'What a watch tells; more members may come, so keep a default branch.',
  types: [LockSnapshot, LockEventRef, LockBookmark],
  resolveType: (change) => ('kind' in change ? TYPE_OF_KIND[change.kind] : 'LockEvent'),
});

const TYPE_OF_KIND = { snapshot: 'LockSnapshot', bookmark: 'LockBookmark' } as const;

builder.subscriptionField('lockChanges', (t) =>
  t.field({
    type: LockChange,
    description:
      "Pushes every state change of the named lock, of the locks with a prefix or an owner, or of all: in order, none lost, none twice. Without `after` it begins with a LockSnapshot (snapshot: false: with a LockBookmark instead). With `after: R` it replays from R + 1 and goes on live; `logId`, if given with it, must be the history R came from. Where that can't be done exactly it says so with a snapshot whose reason is GAP or RESET, and goes on from there.",
    args: {
      filter: t.arg({ type: LockWatchFilter, description: 'Which changes; left out or null: all.' }),
      after: t.arg({
        type: 'BigInt',
        description:
          'The last revision you know: replay what came after it. Left out or null: begin now. A Last-Event-ID header of server-sent events takes the place of it and of logId.',
      }),
      logId: t.arg.id({ description: 'The history that `after` comes from; only together with `after`.' }),
      snapshot: t.arg.boolean({ defaultValue: true, description: 'Whether a watch without `after` begins with what is held.' }),
    },
    // The engine's own iterator: it watches from here on, and whoever ends the subscription ends the watch at once.
    subscribe: (_root, args, { engine, caller: { position, turns } }) => {
      const watch = engine.watch(toRequest(args, position?.lastEventId ?? null), turns);
      return position === null ? watch : tellPositions(watch, position);
    },
    resolve: (item, _args, context) => {
      context.startAnswer();
      return item.kind === 'event' ? toEventRecord(item.event) : item;
    },
  }),
);

function lastEventIdInput(text: string): bigint {
  const revision = fromDigits(text);
  if (revision === null) throw badUserInput('Last-Event-ID', 'Last-Event-ID must be a revision: the id of an event of this watch');
  return revision;
}

interface LockChangesArgs {
  readonly filter?: typeof LockWatchFilter.$inferInput | null;
  readonly after?: bigint | null;
  readonly logId?: string | null;
  readonly snapshot?: boolean | null;
}

function toRequest(
  { filter, after: afterInput, logId: logIdInput = null, snapshot }: LockChangesArgs,
  lastEventId: string | null,
): WatchRequest {
  const named = optionalRevisionInput('after', afterInput);
  if (logIdInput !== null && named === null)
    throw badUserInput('logId', 'logId says where after comes from: give both, or neither');
  // A client that reconnects sends the arguments that it began with: what it has been told since is newer.
  const [after, logId] = lastEventId === null ? [named, logIdInput] : [lastEventIdInput(lastEventId), null];
  return {
    selector: selectorInput(filter),
    types: filter?.types == null ? null : new Set(filter.types),
    after,
    logId,
    snapshot: snapshot ?? true,
  };
}
