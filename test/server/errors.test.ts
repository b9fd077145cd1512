import { buildSchema, GraphQLError, type ExecutionResult } from 'graphql';
import { describe, expect, test } from 'vitest';
import type { Caller } from '../../src/graphql/context.js';
import { createLogger } from '../../src/observability/logger.js';
import { Metrics } from '../../src/observability/metrics.js';
import { createMaskError } from '../../src/server/errors.js';
import { DEFAULT_LIMITS } from '../../src/server/limits.js';
import { isRefused, Operations } from '../../src/server/operations.js';
import { StoreUnavailable } from '../../src/store/lock-store.js';

const CALLER: Caller = {
  position: null,
  turns: null,
  gone: () => new AbortController().signal,
  hasCompleted: () => false,
};
const SECRET = 'SELECT owner FROM distributed_locks';

/** Operations over a schema whose one field fails as it is told. */
function failingWith(error: Error) {
  const schema = buildSchema('type Query { fails: Int! number(of: Int!): Int } type Subscription { fails: Int }');
  Object.assign(schema.getQueryType()?.getFields()['fails'] ?? {}, { resolve: () => Promise.reject(error) });
  Object.assign(schema.getSubscriptionType()?.getFields()['fails'] ?? {}, {
    subscribe: () => ({
      next: () => Promise.reject(error),
      [Symbol.asyncIterator]() {
        return this;
      },
    }),
  });
  const log: string[] = [];
  const logger = createLogger('info', { write: (line) => void log.push(line) });
  const metrics = new Metrics(() => Promise.resolve(0));
  const operations = new Operations({
    schema,
    createContext: () => ({}),
    introspection: true,
    limits: DEFAULT_LIMITS,
    maskError: createMaskError(logger, metrics),
    metrics,
  });
  return { operations, log };
}

function prepare(operations: Operations, query: string, variables = {}) {
  const operation = operations.prepare({ query, variables, caller: CALLER }, 'http');
  if (operation instanceof Promise || isRefused(operation)) throw new Error('The operation is refused');
  return operation;
}

async function run(error: Error): Promise<{ result: ExecutionResult; log: string[]; shown: Record<string, unknown> }> {
  const { operations, log } = failingWith(error);
  const result = await operations.execute(prepare(operations, '{ fails }'));
  return { result, log, shown: result.errors?.[0]?.toJSON().extensions ?? {} };
}

describe('an error of a resolver', () => {
  test('that nobody foresaw is logged under an id, and no more of it is shown', async () => {
    const { result, log, shown } = await run(new Error(SECRET));
    const text = JSON.stringify(result);
    expect(shown['code']).toBe('INTERNAL_SERVER_ERROR');
    expect(text).not.toMatch(/SELECT|Unexpected error|stack|\.ts|node_modules/);
    expect(log).toHaveLength(1);
    const { errorId, err } = JSON.parse(log[0] ?? '') as { errorId: string; err: { message: string } };
    expect(err.message).toBe(SECRET);
    expect(text).toContain(errorId);
  });

  test('that is no error at all is masked like one', async () => {
    const { result, shown } = await run(SECRET as unknown as Error);
    expect(shown['code']).toBe('INTERNAL_SERVER_ERROR');
    expect(JSON.stringify(result)).not.toContain('SELECT');
  });

  test('of a database that does not answer is UNAVAILABLE, and not a fault', async () => {
    const { shown, log } = await run(new StoreUnavailable(SECRET, false));
    expect(shown).toMatchObject({ code: 'UNAVAILABLE', retryable: true, applied: false });
    expect(JSON.stringify(shown)).not.toContain('SELECT');
    expect(log).toEqual([]);
  });

  test('of a change that may have happened does not say that it did not', async () => {
    const { shown } = await run(new StoreUnavailable('the connection broke', null));
    expect(shown).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    expect(shown).not.toHaveProperty('applied');
  });

  test('that was written for the caller is shown as it is', async () => {
    const error = new GraphQLError('ttlMs must be at least 1', { extensions: { code: 'BAD_USER_INPUT', argument: 'ttlMs' } });
    const { result, shown } = await run(error);
    expect(result.errors?.[0]?.message).toBe('ttlMs must be at least 1');
    expect(shown).toEqual({ code: 'BAD_USER_INPUT', argument: 'ttlMs' });
  });
});

describe('a stream that breaks', () => {
  test('throws an error that is masked', async () => {
    const { operations } = failingWith(new Error(SECRET));
    const stream = await operations.subscribe(prepare(operations, 'subscription { fails }'));
    if (!('next' in stream)) throw new Error('not a stream');
    await expect(stream.next()).rejects.toMatchObject({ extensions: { code: 'INTERNAL_SERVER_ERROR' } });
  });
});

describe('operations that drain', () => {
  test('resolve once what is under way is answered, and refuse what comes after', async () => {
    const { operations } = failingWith(new Error('late'));
    const underWay = operations.execute(prepare(operations, '{ fails }'));
    const drained = operations.drain(1_000);
    expect(operations.prepare({ query: '{ fails }', caller: CALLER }, 'http')).toMatchObject([
      { extensions: { code: 'UNAVAILABLE', retryable: true, applied: false } },
    ]);
    await underWay;
    await drained;
  });
});
