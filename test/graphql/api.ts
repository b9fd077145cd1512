import { execute, parse, subscribe, validate, type ExecutionResult, type GraphQLError } from 'graphql';
import { expect } from 'vitest';
import { GraphQLContext, type Caller, type Services } from '../../src/graphql/context.js';
import { presentError } from '../../src/graphql/errors.js';
import { schema } from '../../src/graphql/schema.js';
import { openPrismaClient } from '../../src/store/prisma-clients.js';
import { startEngine, type EngineFixture } from '../support/engine.js';
import { shared, whenOver } from '../support/shared.js';

export const LIMITS = { defaultTtlMs: 30_000, maxTtlMs: 86_400_000, maxWaitMs: 300_000, retryWindowMs: 600_000 };

/** One that waits for its answers, and is cut off from its streams. */
export const CALLER: Caller = {
  position: null,
  turns: null,
  gone: () => new AbortController().signal,
  hasCompleted: () => false,
};

/** What an operation answered; data is loosely typed, as a client without generated types sees it. */
export interface Answer {
  readonly data: any;
  readonly errors: readonly GraphQLError[];
}

export interface Api extends EngineFixture {
  readonly services: Services;
  run(document: string, variables?: Record<string, unknown>): Promise<Answer>;
  /** Subscribes; a refusal is an answer. */
  watch(document: string, variables?: Record<string, unknown>): Promise<AsyncGenerator<ExecutionResult> | Answer>;
}

/** The API on a real engine and a real database, without a transport; closed when the test is over. */
export async function startApi(): Promise<Api> {
  const fixture = await startEngine();
  const prisma = await openPrismaClient(fixture.databaseUrl);
  whenOver(() => prisma.$disconnect());
  const services: Services = { engine: fixture.engine, prisma, limits: LIMITS, version: '1.2.3' };

  const prepare = (text: string, variableValues: Record<string, unknown>) => {
    const document = parse(text);
    return {
      schema,
      document,
      variableValues,
      contextValue: new GraphQLContext(services, CALLER),
      errors: validate(schema, document),
    };
  };
  return {
    ...fixture,
    services,
    run: async (text, variables = {}) => {
      const { errors, ...args } = prepare(text, variables);
      return answer(errors.length > 0 ? { errors } : await execute(args));
    },
    watch: async (text, variables = {}) => {
      const { errors, ...args } = prepare(text, variables);
      const stream = errors.length > 0 ? { errors } : await subscribe(args);
      return Symbol.asyncIterator in stream ? stream : answer(stream);
    },
  };
}

/** One that its tests read, or are refused by; what it began with is still all there is when they are over. */
export function sharedApi<A extends Api>(start: () => Promise<A>): () => Promise<A> {
  return shared(async () => {
    const api = await start();
    const { wall } = api.time;
    const head = await api.engine.head();
    whenOver(async () => {
      expect(await api.engine.head()).toEqual(head);
      expect(api.time.wall).toBe(wall);
    });
    return api;
  });
}

function answer({ data, errors = [] }: ExecutionResult): Answer {
  return { data, errors: errors.map((error) => presentError(error, failOnFault)) };
}

function failOnFault(fault: unknown): never {
  throw fault;
}

/** The answer's data, where nothing went wrong. */
export function dataOf({ data, errors }: Answer): any {
  expect(errors).toEqual([]);
  return data;
}

export function expectBadInput({ errors }: Answer, argument: string, message = /./): void {
  expect(errors.map(({ extensions }) => extensions)).toEqual([{ code: 'BAD_USER_INPUT', argument }]);
  expect(errors[0]?.message).toMatch(message);
}

const REFUSAL =
  '... on LockError { message resource } ... on Forbidden { current { owner } } ... on Conflict { reason retryAfterMs current { owner fencingToken } }';

export const ACQUIRE = `mutation ($input: AcquireLockInput!) { acquireLock(input: $input) { __typename
  ... on LockAcquired { reacquired lock { id resource owner fencingToken revision acquiredAt expiresAt remainingMs metadata } } ${REFUSAL.replace('... on Forbidden { current { owner } }', '')} } }`;

export const RELEASE = `mutation ($input: ReleaseLockInput!) { releaseLock(input: $input) { __typename
  ... on LockReleased { lockId resource fencingToken releasedAt revision } ${REFUSAL} } }`;

export const RENEW = `mutation ($input: RenewLockInput!) { renewLock(input: $input) { __typename
  ... on LockRenewed { lock { fencingToken revision acquiredAt expiresAt remainingMs } } ${REFUSAL.replace('... on Forbidden { current { owner } }', '')} } }`;
