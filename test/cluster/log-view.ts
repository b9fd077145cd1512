import { LOCK, type EventView, type LockApi } from '../faults/lock-api.js';
import type { Change } from './checker/history.js';

/** A change as the API tells it. */
export type ChangeView = EventView & { readonly metadata: unknown };

const CHANGE = `fragment C on LockEvent { revision type at resource owner fencingToken expiresAt metadata lock { ...L } } ${LOCK}`;
const READ_LOG = `query ($after: String) { page: lockEvents(first: 500, after: $after) {
  edges { node { ...C } } pageInfo { hasNextPage endCursor } } } ${CHANGE}`;

/** Tells every change, and where a watch stands that has none. */
export const WATCH_LOG = `subscription ($after: BigInt, $logId: ID) { lockChanges(after: $after, logId: $logId) {
  __typename
  ... on LockEvent { ...C }
  ... on LockBookmark { logId revision }
  ... on LockSnapshot { logId revision reason }
} } ${CHANGE}`;

interface Page {
  readonly edges: readonly { readonly node: ChangeView }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** The whole log, oldest first. */
export async function readLog(api: LockApi): Promise<Change[]> {
  const changes: Change[] = [];
  let after: string | null = null;
  do {
    const { page }: { page: Page } = await api.query(READ_LOG, { after });
    changes.push(...page.edges.map(({ node }) => toChange(node)));
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
  } while (after !== null);
  return changes.reverse();
}

export function toChange({ type, resource, at, owner, fencingToken, revision, expiresAt, metadata, lock }: ChangeView): Change {
  return {
    type,
    resource,
    at: Date.parse(at),
    owner,
    fencingToken: BigInt(fencingToken),
    revision: BigInt(revision),
    acquiredAt: lock === null ? null : Date.parse(lock.acquiredAt),
    expiresAt: Date.parse(expiresAt),
    metadata: metadata === null ? null : JSON.stringify(metadata),
  };
}
