import { expect, test } from 'vitest';
import { LIMITS, type ServerLimits } from '../../src/server/limits.js';
import { startTestApp } from '../support/app.js';
import { ACQUIRE, post } from '../support/http-client.js';
import { TRANSPORTS } from './transports.js';

/** Smaller than they are by default, so that each is reached alone. */
const SMALL = {
  messageBytes: 20_000,
  tokens: 200,
  nesting: 12,
  depth: 6,
  rootFields: 8,
  fields: 40,
  directives: 3,
  answerValues: 2_501,
} satisfies Partial<ServerLimits>;

const ENV = Object.fromEntries(
  Object.entries(SMALL).map(([name, value]) => [LIMITS[name as keyof ServerLimits].variable, String(value)]),
);

interface Case {
  readonly limit: number;
  readonly code: string;
  /** An operation with so much of what is limited. */
  readonly query: (size: number) => string;
  readonly variables?: (size: number) => object;
}

const many = (count: number, of: (n: number) => string) => Array.from({ length: count }, (_, n) => of(n)).join(' ');
const ofDocument = (limit: number, query: Case['query']): Case => ({ limit, code: 'OPERATION_LIMIT_EXCEEDED', query });
const ofValue = (limit: number, query: string, variables: (size: number) => object): Case => ({
  limit,
  code: 'BAD_USER_INPUT',
  query: () => query,
  variables,
});
const acquire = (more: object) => ({ input: { resource: 'r', owner: 'A', ...more } });

const CASES: Readonly<Record<string, Case>> = {
  'the bytes of a message': ofDocument(
    SMALL.messageBytes,
    (size) => `{ __typename } #${'x'.repeat(size - 200)}${size > SMALL.messageBytes ? 'x'.repeat(200) : ''}`,
  ),
  'the tokens of a document': ofDocument(SMALL.tokens, (size) => `{ nodes(ids: [${many(size - 12, () => '"a"')}]) { id } }`),
  'brackets within brackets': ofDocument(
    SMALL.nesting,
    (size) => `{ lock(resource: ${'['.repeat(size - 2)}${']'.repeat(size - 2)}) { id } }`,
  ),
  'fields within fields': ofDocument(
    SMALL.depth,
    (size) => `{ __type(name: "Lock") ${'{ ofType '.repeat(size - 2)}{ name } ${'}'.repeat(size - 2)} }`,
  ),
  'fields of the operation itself': ofDocument(SMALL.rootFields, (size) => `{ ${many(size, (n) => `f${n}: __typename`)} }`),
  'commands multiplied by aliases': ofDocument(
    SMALL.rootFields,
    (size) =>
      `mutation { ${many(size, (n) => `f${n}: acquireLock(input: { resource: "${size}:${n}", owner: "A" }) { __typename }`)} }`,
  ),
  'fields multiplied by a fragment': ofDocument(
    SMALL.fields,
    (size) =>
      `{ server { ...f ...f ...f ${many(size - 34, (n) => `x${n}: version`)} } } fragment f on Server { ${many(11, (n) => `f${n}: version`)} }`,
  ),
  directives: ofDocument(SMALL.directives, (size) => `{ ${many(size, (n) => `f${n}: __typename @skip(if: false)`)} }`),
  'the values of an answer': ofDocument(
    SMALL.answerValues,
    (size) => `{ locks(first: 500) { edges { node { ${size > SMALL.answerValues ? 'id' : ''} resource owner revision } } } }`,
  ),
  'a page': { ...ofDocument(500, (size) => `{ locks(first: ${size}) { totalCount } }`), code: 'BAD_USER_INPUT' },
  'the ids of nodes': ofValue(500, 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }', (size) => ({
    ids: Array<string>(size).fill(Buffer.from('Lock:r').toString('base64url')),
  })),
  'a name, in code points': ofValue(255, ACQUIRE, (size) => acquire({ resource: '😀'.repeat(size) })),
  'metadata, in bytes of JSON': ofValue(4_096, ACQUIRE, (size) =>
    acquire({ metadata: 'é'.repeat((size - 2) / 2) + 'x'.repeat(size % 2) }),
  ),
  'the locks of one call': ofValue(
    1_000,
    'mutation ($names: [String!]!) { acquireLocks(input: { resources: $names, owner: "A" }) { __typename } }',
    (size) => ({ names: Array.from({ length: size }, (_, n) => `${n}`) }),
  ),
};

test.each(Object.entries(TRANSPORTS))('over %s each limit may be reached, and not be passed', async (transport, ask) => {
  const { url } = await startTestApp({ env: ENV });
  const isMessage = (what: string) => transport === 'WebSocket' && what.startsWith('the bytes');
  for (const [what, { limit, code, query, variables }] of Object.entries(CASES)) {
    const [within, beyond] = await Promise.all([limit, limit + 1].map((size) => ask(url, query(size), variables?.(size))));
    expect(within, what).not.toMatchObject({ code });
    // RFC 6455 has a code of its own for it.
    expect(beyond, what).toMatchObject({ code: isMessage(what) ? 1009 : code });
    expect(beyond?.message, what).toMatch(new RegExp(`\\b${limit}\\b`));
  }
  expect((await post(url, '{ locks(filter: { prefix: "9:" }) { totalCount } }')).data).toEqual({ locks: { totalCount: 0 } });
});

test('a document of as many brackets as may ever be allowed is read', async () => {
  const { nesting, depth, tokens } = LIMITS;
  const env = Object.fromEntries([nesting, depth, tokens].map(({ variable, max }) => [variable, String(max)]));
  const { max } = nesting;
  const { url } = await startTestApp({ env });
  const codeOf = async (text: string) => (await post(url, text)).errors?.[0]?.extensions['code'];
  for (const text of ['{ a '.repeat(max), `{ a(b: ${'['.repeat(max - 2)}`, `query ($a: ${'['.repeat(max - 1)}`]) {
    expect(await codeOf(text)).toBe('GRAPHQL_PARSE_FAILED');
  }
  for (const text of [
    '{ a '.repeat(max) + '}'.repeat(max),
    `{ lock(resource: ${'['.repeat(max - 2)}${']'.repeat(max - 2)}) { id } }`,
  ]) {
    expect(await codeOf(text)).toBe('GRAPHQL_VALIDATION_FAILED');
  }
});
