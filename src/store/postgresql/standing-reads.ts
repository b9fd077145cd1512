import type pg from 'pg';
import type { Command } from '../../locks/commands.js';
import { tryToDecide } from '../../locks/decide-group.js';
import type { GroupDecision, GroupState } from '../../locks/group.js';
import type { Unread } from '../../locks/lines.js';
import type { Lock } from '../../locks/lock.js';
import { toLock, toWaiter, type LockRow } from '../rows.js';
import { FIRST_IN_LINE, WHOLE_LINE, type Standing } from '../standing.js';
import { waiterLookups } from '../waiter-lookups.js';
import { read } from './connections.js';
import { readLocksOf } from './group-sql.js';
import { readWaiters, type WaitersRow, type WaitersSought } from './line-sql.js';

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
  const found = rows.flatMap((row) => (row.sought === null ? [] : [row]));
  const live = found.filter((row) => row.sought !== 'named' && row.deadline > now && row.alive_until > now);
  for (const resource of lines) {
    const isInLine = (row: (typeof found)[number]) => row.sought === 'line' && row.resource === resource;
    standing.lines.set(resource, {
      waiters: live.filter(isInLine).map(toWaiter),
      isWhole: found.filter(isInLine).length < limit,
    });
  }
  for (const owner of owners) {
    standing.byOwner.set(owner, live.filter((row) => row.sought === 'owner' && row.owner === owner).map(toWaiter));
  }
  standing.named.push(...found.filter(({ sought }) => sought === 'named').map(toWaiter));
}
