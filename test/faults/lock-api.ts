import { post, type GraphQLAnswerError } from '../support/http-client.js';

/** Numbers and moments as the API sends them: strings, compared to the last digit. */
export interface LockView {
  readonly resource: string;
  readonly owner: string;
  readonly fencingToken: string;
  readonly revision: string;
  readonly acquiredAt: string;
  readonly expiresAt: string;
  readonly metadata: unknown;
}

export interface EventView {
  readonly revision: string;
  readonly type: 'ACQUIRED' | 'RENEWED' | 'RELEASED' | 'EXPIRED';
  readonly at: string;
  readonly resource: string;
  readonly owner: string;
  readonly fencingToken: string;
  readonly expiresAt: string;
  /** The lock as this event left it. */
  readonly lock: LockView | null;
}

/** Any member of the unions that mutations answer with. */
export interface Answer {
  readonly __typename: 'LockAcquired' | 'LockRenewed' | 'LockReleased' | 'NotFound' | 'Forbidden' | 'Conflict';
  readonly lock?: LockView;
  readonly reacquired?: boolean;
  readonly reason?: string;
  readonly current?: LockView | null;
  readonly fencingToken?: string;
  readonly revision?: string;
  readonly releasedAt?: string;
}

export interface Head {
  readonly logId: string;
  readonly revision: string;
  readonly oldestRevision: string;
}

export interface Reply {
  readonly data?: unknown;
  readonly errors?: readonly GraphQLAnswerError[] | undefined;
}

export interface ReleaseView {
  readonly resource: string;
  readonly fencingToken: string;
  readonly revision: string;
  readonly releasedAt: string;
}

/** Any answer about several locks. */
export interface GroupAnswer {
  readonly __typename: 'LocksAcquired' | 'Conflict' | 'LocksRenewed' | 'LocksReleased';
  readonly locks?: readonly LockView[];
  readonly lost?: readonly string[];
  readonly released?: readonly ReleaseView[];
  readonly notHeld?: readonly string[];
  readonly reason?: string;
  readonly resource?: string;
  readonly blockedBy?: readonly LockView[];
}

/** How an operation gets to the server and its result back. */
export type Transport = (query: string, variables: object) => Promise<Reply>;

export interface AcquireOptions {
  readonly ttlMs?: number | null;
  readonly requestId?: string | null;
  readonly reacquire?: boolean;
  readonly metadata?: unknown;
  readonly waitMs?: number | null;
  readonly detectDeadlock?: boolean;
}

export interface RenewOptions {
  readonly fencingToken?: string | null;
  readonly ttlMs?: number | null;
}

/** The operation was answered with errors instead of data. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly extensions: Readonly<Record<string, unknown>>;

  constructor(readonly errors: readonly GraphQLAnswerError[]) {
    super(errors.map(({ message }) => message).join('; '));
    this.extensions = errors[0]?.extensions ?? {};
  }
}

export const LOCK = 'fragment L on Lock { resource owner fencingToken revision acquiredAt expiresAt metadata }';
export const EVENT = `fragment E on LockEvent { revision type at resource owner fencingToken expiresAt lock { ...L } } ${LOCK}`;
const REFUSALS = '... on Conflict { reason current { ...L } }';
const ACQUIRE = `mutation ($input: AcquireLockInput!) { answer: acquireLock(input: $input) {
  __typename ... on LockAcquired { lock { ...L } reacquired } ${REFUSALS} } } ${LOCK}`;
const RENEW = `mutation ($input: RenewLockInput!) { answer: renewLock(input: $input) {
  __typename ... on LockRenewed { lock { ...L } } ${REFUSALS} } } ${LOCK}`;
const RELEASE = `mutation ($input: ReleaseLockInput!) { answer: releaseLock(input: $input) {
  __typename ... on LockReleased { fencingToken revision releasedAt } ... on Forbidden { current { ...L } } ${REFUSALS} } } ${LOCK}`;
const READ_LOCK = `query ($resource: String!) { lock(resource: $resource) { ...L } } ${LOCK}`;
const READ_LOCKS = `query ($filter: LockFilter, $after: String) { page: locks(filter: $filter, first: 500, after: $after) {
  edges { node { ...L } } pageInfo { hasNextPage endCursor } revision } } ${LOCK}`;
const READ_EVENTS = `query ($filter: LockEventFilter, $after: String) { page: lockEvents(filter: $filter, first: 500, after: $after) {
  edges { node { ...E } } pageInfo { hasNextPage endCursor } } } ${EVENT}`;

const ACQUIRE_ALL = `mutation ($input: AcquireLocksInput!) { answer: acquireLocks(input: $input) {
  __typename ... on LocksAcquired { locks { ...L } } ... on Conflict { reason resource blockedBy { ...L } } } } ${LOCK}`;
const RENEW_ALL = `mutation ($input: RenewLocksInput!) { answer: renewLocks(input: $input) {
  __typename locks { ...L } lost } } ${LOCK}`;
const RELEASE_ALL = `mutation ($input: ReleaseLocksInput!) { answer: releaseLocks(input: $input) {
  __typename released { resource fencingToken revision releasedAt } notHeld } }`;

interface Page<T> {
  readonly edges: readonly { readonly node: T }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** The API as tests speak it, over any transport. Every method rejects with {@link ApiError} where there is no data. */
export class LockApi {
  readonly #send: Transport;

  constructor(send: Transport) {
    this.#send = send;
  }

  acquire(resource: string, owner: string, rest: AcquireOptions = {}): Promise<Answer> {
    return this.#mutate(ACQUIRE, { resource, owner, ...rest });
  }

  renew(resource: string, owner: string, rest: RenewOptions = {}): Promise<Answer> {
    return this.#mutate(RENEW, { resource, owner, ...rest });
  }

  release(resource: string, owner: string, fencingToken: string | null = null): Promise<Answer> {
    return this.#mutate(RELEASE, { resource, owner, fencingToken });
  }

  acquireAll(input: object): Promise<GroupAnswer> {
    return this.#mutateAll(ACQUIRE_ALL, input);
  }

  renewAll(input: object): Promise<GroupAnswer> {
    return this.#mutateAll(RENEW_ALL, input);
  }

  releaseAll(input: object): Promise<GroupAnswer> {
    return this.#mutateAll(RELEASE_ALL, input);
  }

  async lock(resource: string): Promise<LockView | null> {
    return (await this.query<{ lock: LockView | null }>(READ_LOCK, { resource })).lock;
  }

  /** All that is held, by name. */
  locks(filter: object = {}): Promise<LockView[]> {
    return this.#allPages(READ_LOCKS, filter);
  }

  /** The log, oldest first. */
  async events(filter: object = {}): Promise<EventView[]> {
    return (await this.#allPages<EventView>(READ_EVENTS, filter)).reverse();
  }

  async head(): Promise<Head> {
    return (await this.query<{ server: Head }>('{ server { logId revision oldestRevision } }')).server;
  }

  async query<T>(query: string, variables: object = {}): Promise<T> {
    const { data, errors } = await this.#send(query, variables);
    if (errors !== undefined || data == null) throw new ApiError(errors ?? []);
    return data as T;
  }

  async #mutate(mutation: string, input: object): Promise<Answer> {
    return (await this.query<{ answer: Answer }>(mutation, { input })).answer;
  }

  async #mutateAll(mutation: string, input: object): Promise<GroupAnswer> {
    return (await this.query<{ answer: GroupAnswer }>(mutation, { input })).answer;
  }

  async #allPages<T>(query: string, filter: object): Promise<T[]> {
    const nodes: T[] = [];
    let after: string | null = null;
    do {
      const { page }: { page: Page<T> } = await this.query(query, { filter, after });
      nodes.push(...page.edges.map(({ node }) => node));
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
    } while (after !== null);
    return nodes;
  }
}

/** The API over HTTP, each operation on a connection of its own. */
export function httpApi(url: string): LockApi {
  return new LockApi((query, variables) => post(url, query, variables));
}

/** The API through several instances, which take turns with its operations. */
export function alternating(apis: readonly LockApi[]): LockApi {
  let turn = 0;
  return new LockApi(async (query, variables) => ({ data: await apis[turn++ % apis.length]?.query(query, variables) }));
}

/** The lock of an answer that must have one. */
export function lockOf(answer: Answer): LockView {
  if (answer.lock === undefined) throw new Error(`No lock in ${JSON.stringify(answer)}`);
  return answer.lock;
}

/** The token of an answer that must be a granted acquire. */
export function tokenOf(answer: Answer): string {
  return lockOf(answer).fencingToken;
}
