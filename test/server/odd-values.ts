import { gzipSync } from 'node:zlib';

export const LOOK = '{ lock(resource: "a") { owner fencingToken } }';
export const NAMED = 'query A { __typename } query B($r: String!) { lock(resource: $r) { owner } } mutation C { __typename }';
export const ACQUIRE = `mutation ($input: AcquireLockInput!) { acquireLock(input: $input) {
  __typename ... on LockAcquired { reacquired lock { resource owner fencingToken expiresAt metadata } } ... on Conflict { reason } } }`;
const RELEASE = 'mutation ($r: String = "a") { releaseLock(input: { resource: $r, owner: "A" }) { __typename } }';

/** Strings most of them, but any JSON may stand there. Nobody who sends one takes a stream: those never take the short way. */
export const QUERIES: readonly unknown[] = [
  ...[LOOK, LOOK, NAMED, NAMED, ACQUIRE, ACQUIRE, ACQUIRE, RELEASE, '{ server { limits { maxPageSize } } }'],
  ...['{ locks(first: 5) { totalCount edges { node { resource } } } }', 'query ($n: Int) { locks(first: $n) { totalCount } }'],
  ...[
    '',
    ' ',
    '{',
    '}',
    '{ nothing }',
    '{ lock }',
    'query',
    '# nothing',
    '\ufeff{ __typename }',
    '{ __typename } \u0000',
    '{ "x" }',
  ],
  ...[
    '{ lock(resource: "") { id } }',
    '{ locks(first: 501) { totalCount } }',
    '{ lock(resource: 7) { id } }',
    '{ node(id: "x") { id } }',
  ],
  ...['fragment f on Query { __typename }', '{ ...f }', '{ a: __typename b: __typename @skip(if: true) }', 'type A { b: Int }'],
  ...['{'.repeat(5_000), `{ ${'a '.repeat(3_000)} }`, `{ ${'__typename '.repeat(60)} }`, '{ __schema { queryType { name } } }'],
  ...[
    'mutation { acquireLock(input: { resource: "a\\u0000", owner: "A" }) { __typename } }',
    '😀',
    '{ lock(resource: "😀") { id } }',
  ],
  ...[
    'subscription { lockChanges { __typename } }',
    'subscription { nothing }',
    'subscription A { __typename } query B { __typename }',
  ],
  ...[null, undefined, 7, 0, true, false, [], {}, [LOOK], { query: LOOK }],
];

export const OPERATION_NAMES: readonly unknown[] = [
  ...[undefined, undefined, undefined, undefined, null, 'A', 'B', 'C', 'D', '', ' ', '__proto__', '😀', 7, true, {}, []],
];

/** Of an acquire. */
const INPUTS: readonly unknown[] = [
  ...[
    { resource: 'a', owner: 'A' },
    { resource: 'a', owner: 'B' },
    { resource: 'b', owner: 'A', ttlMs: 1 },
    { resource: '😀', owner: 'é' },
  ],
  ...[
    { resource: 'c', owner: 'A', metadata: { a: [1, null, { b: 'x' }] } },
    { resource: 'a', owner: 'A', requestId: 'r' },
  ],
  ...[
    { resource: 'a', owner: 'A', reacquire: false },
    { resource: 'a', owner: 'A', ttlMs: 0 },
    { resource: 'a', owner: 'A', ttlMs: 1.5 },
  ],
  ...[
    { resource: 'a', owner: 'A', ttlMs: '1' },
    { resource: 'a', owner: 'A', ttlMs: null },
    { resource: 'a', owner: 'A', other: 1 },
  ],
  ...[
    { resource: ' a', owner: 'A' },
    { resource: 'a'.repeat(256), owner: 'A' },
    { resource: '\ud800', owner: 'A' },
    { resource: 'a' },
  ],
  ...[{ resource: 'd', owner: 'A', metadata: 'x'.repeat(5_000) }, null, 7, [], 'x', {}, { resource: {}, owner: [] }],
];

export const VARIABLES: readonly unknown[] = [
  ...[
    undefined,
    undefined,
    null,
    {},
    { r: 'a' },
    { r: 7 },
    { r: null },
    { n: 1 },
    { n: 2 ** 31 },
    { n: 'x' },
    { x: 1 },
    [],
    [1],
    7,
    '',
    '{}',
  ],
  ...INPUTS.map((input) => ({ input })),
];

export const EXTENSIONS: readonly unknown[] = [
  undefined,
  undefined,
  undefined,
  undefined,
  null,
  {},
  { persistedQuery: { version: 1 } },
  [],
  7,
  'x',
];

/** What besides the four parameters may stand in a body. */
export const MORE: readonly object[] = [
  {},
  {},
  {},
  {},
  { other: 1 },
  { constructor: 1 },
  { id: 'x' },
  { doc_id: null },
  { Query: LOOK },
];

const MALFORMED = [
  '',
  ' ',
  'null',
  'true',
  '7',
  '"x"',
  '{',
  '[',
  '{}',
  '[]',
  '[{}]',
  '{"query"',
  '{"query":"x"',
  "{'query':'x'}",
  '{}{}',
];
export const WELL_FORMED = JSON.stringify({ query: LOOK });
export const BODIES: readonly Buffer[] = [
  ...[
    ...MALFORMED,
    '['.repeat(100_000),
    `[${WELL_FORMED}]`,
    `\ufeff${WELL_FORMED}`,
    ` \n${WELL_FORMED}\t`,
    `${WELL_FORMED}\u0000`,
  ].map((text) => Buffer.from(text)),
  Buffer.from('{"query":"{ __typename }","query":"{ nothing }"}'),
  Buffer.from('{"__proto__":{"query":"{ __typename }"}}'),
  Buffer.from('{"query":"{ lock(resource: \\"\xff\\") { id } }"}', 'latin1'),
  Buffer.from(WELL_FORMED, 'utf16le'),
  gzipSync(WELL_FORMED),
  Buffer.from(`query=${encodeURIComponent(LOOK)}`),
  Buffer.from(`--x\r\ncontent-disposition: form-data; name="operations"\r\n\r\n${WELL_FORMED}\r\n--x--\r\n`),
];

export const METHODS = [...Array<string>(16).fill('POST'), 'GET', 'GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'];

export const JSON_TYPE = 'application/json';
export const CONTENT_TYPES: readonly (string | null)[] = [
  ...Array<string>(100).fill(JSON_TYPE),
  ...['application/json; charset=utf-8', 'application/json;charset=UTF-8', 'application/json; charset="utf-8"', 'APPLICATION/JSON'],
  ...[
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json;',
    'application/json; a=b',
    ' application/json ',
  ],
  ...[
    'application/graphql+json',
    'application/graphql',
    'application/graphql-response+json',
    'application/jsonx',
    'text/json',
    'json',
    '',
  ],
  ...[
    'text/plain',
    'text/plain; application/json',
    'application/json, text/plain',
    'application/x-www-form-urlencoded',
    '*/*',
    null,
  ],
  ...['multipart/form-data; boundary=x'],
];

export const RESPONSE_TYPE = 'application/graphql-response+json';
export const ACCEPTS: readonly (string | null)[] = [
  ...[null, null, null, '*/*', JSON_TYPE, JSON_TYPE, JSON_TYPE, RESPONSE_TYPE, RESPONSE_TYPE, RESPONSE_TYPE, 'application/*', ''],
  ...[
    `${RESPONSE_TYPE}, ${JSON_TYPE}`,
    `${JSON_TYPE}, ${RESPONSE_TYPE}`,
    `${JSON_TYPE};q=0.5, ${RESPONSE_TYPE}`,
    `${JSON_TYPE};q=0`,
  ],
  ...[`${JSON_TYPE};q=0, */*`, `${JSON_TYPE};charset=utf-16`, `${RESPONSE_TYPE}; charset=utf-8, ${JSON_TYPE}; charset=utf-8;q=0.9`],
  ...[
    'text/html',
    'text/html, */*',
    'text/*',
    'multipart/mixed',
    'image/png',
    'APPLICATION/JSON',
    ',',
    ';',
    'q=1',
    `${JSON_TYPE};q=x`,
    '*',
  ],
];

export const MORE_HEADERS: readonly string[] = [
  ...['origin: https://app.example', 'origin: https://evil.example', 'origin: null', 'origin: ', 'x-request-id: trace-1'],
  ...[
    'x-request-id: "bad"',
    'accept-encoding: gzip',
    'content-encoding: gzip',
    'last-event-id: 1',
    'content-type: application/json',
  ],
  ...['content-type: text/plain', 'accept: application/json', 'accept: text/html', 'if-none-match: *', 'cookie: a=b'],
  ...['authorization: Bearer x', 'expect: 100-continue', 'x-http-method-override: GET', 'range: bytes=0-1', 'te: trailers'],
  ...['access-control-request-method: POST', 'content-language: de', `x-other: ${'ignored'.repeat(100)}`],
];
