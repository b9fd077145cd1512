import type pg from 'pg';
import type { Command } from '../../locks/commands.js';
import { tryToDecide } from '../../locks/decide-group.js';
import type { GroupDecision, GroupState } from '../../locks/group.js';
import type { Unread } from '../../locks/lines.js';
import type { Lock } from '../../locks/lock.js';
import { toLock, type LockRow } from '../rows.js';
import { FIRST_IN_LINE, WHOLE_LINE, type Standing } from '../standing.js';
import { waiterLookups } from '../waiter-lookups.js';
import { WaitersOfRows } from '../waiter-rows.js';
import { read } from './connections.js';
import { readLocksOf } from './group-sql.js';
import { readWaiters, type WaitersRow, type WaitersSought } from './line-sql.js';

type FoundRow = Extract<WaitersRow, { readonly sought: 'line' | 'owner' }>;
type NamedRow = Extract<WaitersRow, { readonly sought: 'named' | 'whole' }>;

const NOTHING = { places: [], calls: [] };

/**
 * What a group may have to know of those who stand in line, asked before its time is known.
 *
 * @param moment no later than that
 */
export function firstInLine(commands: readonly Command[], resources: readonly string[], moment: number): WaitersSought {
  return { moment, lines: resources, limit: FIRST_IN_LINE, owners: [], lookups: waiterLookups(commands) };
}

/** A group's state, as far as it was read. */
export interface ReadState extends GroupState {
  readonly rows: Map<string, Lock>;
  readonly standing: Standing | null;
}

/** What came of it: the last ticket, and who stands in line; null: nobody does, anywhere. */
export function readStanding(
  rows: readonly WaitersRow[],
  sought: WaitersSought,
  now: number,
): { readonly ticket: bigint; readonly standing: Standing | null } {
  const [tickets] = rows;
  if (tickets === undefined) throw new Error('lock_tickets has no row');
  if (tickets.waiting === 0n) return { ticket: tickets.last, standing: null };
  const standing: Standing = { lines: new Map(), byOwner: new Map(), named: [] };
  add(standing, rows, sought, now);
  return { ticket: tickets.last, standing };
}

/** Reads, while it decides, whatever else turns out to matter. */
export async function decideInLine(client: pg.PoolClient, state: ReadState, commands: readonly Command[]): Promise<GroupDecision> {
  for (;;) {
    const decision = tryToDecide(state, commands);
    if ('outcomes' in decision) return decision;
    await readMore(client, state, decision);
  }
}

async function readMore(client: pg.PoolClient, { rows, standing, now }: ReadState, { resources, owners }: Unread): Promise<void> {
  if (standing === null) throw new Error('Where nobody stands in line, there is nothing to read');
  const sought = { moment: now, lines: resources, limit: WHOLE_LINE, owners, lookups: NOTHING };
  const [locks, waiters] = await read(client, [readLocksOf(resources), readWaiters(sought)]);
  for (const lock of (locks as LockRow[]).map(toLock)) rows.set(lock.resource, lock);
  add(standing, waiters as WaitersRow[], sought, now);
}

function add(standing: Standing, rows: readonly WaitersRow[], { lines, limit, owners }: WaitersSought, now: number): void {
  const found = { line: new Map<string, FoundRow[]>(), owner: new Map<string, FoundRow[]>(), named: [] as NamedRow[] };
  const whole = new Map<string, NamedRow>();
  for (const row of rows) {
    if (row.sought === 'line') append(found.line, row.resource, row);
    else if (row.sought === 'owner') append(found.owner, row.owner, row);
    else if (row.sought === 'named') found.named.push(row);
    else if (row.sought === 'whole') whole.set(row.waiter_id, row);
  }
  const waiters = new WaitersOfRows(({ waiter_id: id }) => whole.get(id));
  const isLive = (row: FoundRow) => row.deadline > now && row.alive_until > now;
  for (const resource of lines) {
    const inLine = found.line.get(resource) ?? [];
    standing.lines.set(resource, { waiters: waiters.of(inLine.filter(isLive)), isWhole: inLine.length < limit });
  }
  for (const owner of owners) standing.byOwner.set(owner, waiters.of((found.owner.get(owner) ?? []).filter(isLive)));
  standing.named.push(...waiters.of(found.named));
}

function append(rows: Map<string, FoundRow[]>, key: string, row: FoundRow): void {
  const list = rows.get(key);
  if (list === undefined) rows.set(key, [row]);
  else list.push(row);
}
