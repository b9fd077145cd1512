import { resourcesOfAll, type Command } from '../../locks/commands.js';
import type { RememberedAcquisition } from '../../locks/retries.js';
import { waiterLookups } from '../waiter-lookups.js';
import { BEGIN, callStoreGroup, LOG_ID_IF_UNCHANGED, selectStored } from './group-sql.js';
import type { GroupToStore } from './group-to-store.js';
import { changeLines } from './line-sql.js';
import { bigintArray, column, textArray, textLiteral } from './literals.js';

/** Of a row: whichever it is, another owner than that holds it. */
const HELD_BY_ANOTHER = -1n;

/** What the database compares before it stores a group, besides the rows and lines that were remembered. */
export interface ToCompare {
  /** What they are about is compared. */
  readonly commands: readonly Command[];
  /** These have acquired nothing since then. */
  readonly acquisitions: readonly RememberedAcquisition[];
  readonly rememberedSince: number;
}

/**
 * Stores and commits a group in one message, where the database is as it was remembered, and the group is not older than this.
 * Answers with a {@link StoreAnswer}.
 *
 * @param sessionKey see {@link GrowthListener.sessionKey}
 */
export function storeIfUnchanged(group: GroupToStore, toCompare: ToCompare, maxAgeMs: number, sessionKey: bigint | null): string {
  const { decision, logId, standing } = group;
  const isInLine = standing !== null || decision.joined.length > 0;
  const { commands, acquisitions, rememberedSince } = toCompare;
  const rows = isInLine ? Array<string>(3).fill('NULL') : rowColumns(rowsAt(group, resourcesOfAll(commands)));
  const requests = (['requestId', 'resource', 'owner'] as const).map((name) => textArray(column(acquisitions, name)));
  const call = callStoreGroup(group, isInLine ? LOG_ID_IF_UNCHANGED : textLiteral(logId), maxAgeMs, [
    ...rows,
    ...requests,
    `${rememberedSince}`,
  ]);
  const lines = changeLines(group, sessionKey);
  return `${BEGIN} ${selectStored(call, lines, isInLine ? callComparison(group, commands, maxAgeMs) : null)} COMMIT;`;
}

/** A row as it is remembered. */
interface RememberedRow {
  readonly resource: string;
  readonly revision: bigint;
  readonly owner: string | null;
  /** The first in line. */
  readonly firstWaiterId: string | null;
}

function rowsAt({ rows, standing }: GroupToStore, resources: readonly string[]): RememberedRow[] {
  return resources.map((resource) => {
    const row = rows.get(resource);
    const [first] = standing?.lines.get(resource)?.waiters ?? [];
    return { resource, revision: row?.revision ?? 0n, owner: row?.owner ?? null, firstWaiterId: first?.id ?? null };
  });
}

function rowColumns(rows: readonly RememberedRow[]): string[] {
  return [textArray(column(rows, 'resource')), bigintArray(column(rows, 'revision')), textArray(column(rows, 'owner'))];
}

/** The call that compares lines as well: the log's id where all is as it was remembered, else none that any log has. */
function callComparison(group: GroupToStore, commands: readonly Command[], lockTimeoutMs: number): string {
  const { logId, now, ticket, decision } = group;
  const others = commands.filter((_, n) => decision.outcomes[n]?.kind !== 'queued');
  const told = new Set([...resourcesOfAll(others), ...column(decision.events, 'resource')]);
  // Where nothing else happens, it matters to those who join that somebody else holds it, and not who.
  const joins = decision.joined.flatMap(({ resources, owner }) => resources.map((resource) => ({ resource, owner })));
  const rows: RememberedRow[] = [
    ...rowsAt(group, [...told]),
    ...joins
      .filter(({ resource }) => !told.has(resource))
      .map((join) => ({ ...join, revision: HELD_BY_ANOTHER, firstWaiterId: null })),
  ];
  const { calls } = waiterLookups(commands);
  const lists = [
    ...rowColumns(rows),
    textArray(column(rows, 'firstWaiterId')),
    textArray(column(calls, 'owner')),
    textArray(column(calls, 'requestId')),
    textArray(column(calls, 'waiterId')),
  ];
  // What is remembered, by an older word for it.
  return `holdfast_as_assumed(${[textLiteral(logId), now, ticket, lockTimeoutMs, ...lists].join(', ')})`;
}
