import type { Waiter } from '../locks/waiter.js';

/** A row of lock_waiters. */
export interface WaiterRow {
  resource: string;
  ticket: bigint;
  waiter_id: string;
  instance: string;
  owner: string;
  ttl_ms: bigint | number;
  request_id: string | null;
  metadata: string | null;
  resources: string | null;
  own_tokens: string | null;
  joined_at: bigint;
  deadline: bigint;
}

export const WAITER_COLUMNS =
  'resource, ticket, waiter_id, instance, owner, ttl_ms, request_id, metadata, resources, own_tokens, joined_at, deadline';

/** Begins what a row has for the list of all resources: the name of the one whose row has it. A list begins otherwise. */
const LISTED_AT = '=';

/**
 * One for each resource that it waits for. What grows with their number is in the first of them alone: a thousand times a thousand
 * names would be more than a transaction can take.
 */
export function toWaiterRows(waiter: Waiter): WaiterRow[] {
  const { ticket, instance, owner, requestId, metadata, resources, ownTokens } = waiter;
  const [first = ''] = resources;
  const place = {
    ticket,
    waiter_id: waiter.id,
    instance,
    owner,
    ttl_ms: waiter.ttlMs,
    request_id: requestId,
    metadata: null,
    resources: LISTED_AT + first,
    own_tokens: null,
    joined_at: BigInt(waiter.joinedAt),
    deadline: BigInt(waiter.deadline),
  };
  const whole = {
    metadata,
    resources: resources.length === 1 ? null : JSON.stringify(resources),
    own_tokens: ownTokens.length === 0 ? null : JSON.stringify(ownTokens.map(String)),
  };
  return resources.map((resource, n) => (n === 0 ? { ...place, resource, ...whole } : { ...place, resource }));
}

/** The waiters that rows tell of: each is made once, in however many lines it is found. */
export class WaitersOfRows {
  readonly #waiters = new Map<string, Waiter>();
  readonly #rowAt: (row: WaiterRow, resource: string) => WaiterRow | undefined;

  /** @param rowAt the row of the same waiter at another resource, if it is still there */
  constructor(rowAt: (row: WaiterRow, resource: string) => WaiterRow | undefined) {
    this.#rowAt = rowAt;
  }

  /** Without those of which a part is removed already: their time passed long ago. */
  of(rows: readonly WaiterRow[]): Waiter[] {
    return rows.flatMap((row) => this.#waiterOf(row) ?? []);
  }

  #waiterOf(row: WaiterRow): Waiter | null {
    const known = this.#waiters.get(row.waiter_id);
    if (known !== undefined) return known;
    const whole = row.resources?.startsWith(LISTED_AT) === true ? this.#rowAt(row, row.resources.slice(LISTED_AT.length)) : row;
    if (whole === undefined) return null;
    const waiter = toWaiter(whole);
    this.#waiters.set(row.waiter_id, waiter);
    return waiter;
  }
}

function toWaiter(row: WaiterRow): Waiter {
  return {
    ticket: row.ticket,
    id: row.waiter_id,
    instance: row.instance,
    owner: row.owner,
    resources: row.resources === null ? [row.resource] : (JSON.parse(row.resources) as string[]),
    ttlMs: Number(row.ttl_ms),
    requestId: row.request_id,
    metadata: row.metadata,
    ownTokens: row.own_tokens === null ? [] : (JSON.parse(row.own_tokens) as string[]).map(BigInt),
    joinedAt: Number(row.joined_at),
    deadline: Number(row.deadline),
  };
}
