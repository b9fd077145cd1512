import fc from 'fast-check';
import type { Sending } from './connection.js';
import { anyOperation } from './documents.js';
import { editsOf } from './edits.js';
import { framing } from './http-framing.js';
import { oddText } from './odd-texts.js';

/** The usual one as often as all the others together. */
const mostly = (usual: string, ...others: string[]) => fc.oneof(fc.constant(usual), fc.constantFrom(...others));

const method = mostly(
  'POST',
  ...['GET', 'GET', 'GET', 'OPTIONS', 'PUT', 'TRACE', 'CONNECT', 'PRI', 'M-SEARCH', 'get', 'FOO', '', '\0'],
);
const target = mostly(
  '/graphql',
  ...[
    '/graphql?query={__typename}',
    '/graphql?query=%7B__typename%7D',
    '/graphql?query=%ZZ&variables={',
    '/graphql?',
    '/graphql#f',
  ],
  ...['/', '*', '', '//', '//graphql', '/graphql/', '/graphql%00', '/%', '/../graphql', 'http://x/graphql', 'http://[::/', 'x:80'],
  ...['/health/live', '/health/ready', '/metrics', '/metrics?x', '\0', '/\u00ff', `/${'a'.repeat(17_000)}`],
  `/graphql?query=${'%7B'.repeat(3_000)}`,
);
const version = fc.oneof(
  { weight: 8, arbitrary: fc.constant('HTTP/1.1') },
  { weight: 1, arbitrary: fc.constantFrom('HTTP/1.0', 'HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', 'http/1.1', 'HTTP/', '') },
);

const HEADERS = [
  ...[
    'content-type: application/json',
    'content-type: application/json; charset=utf-8',
    'content-type: text/plain',
    'content-type:',
  ],
  ...['accept: application/json', 'accept: application/graphql-response+json', 'accept: text/event-stream', 'accept: text/html'],
  ...['accept: */*;q=0', 'accept: ,;,q', 'accept-encoding: gzip, br', 'connection: close', 'connection: upgrade', 'te: trailers'],
  ...['upgrade: h2c', 'upgrade: websocket', 'http2-settings: x', 'expect: 100-continue', 'expect: nothing', 'range: bytes=0-'],
  ...[
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-key: x',
    'sec-websocket-version: 13',
    'sec-websocket-version: x',
  ],
  ...['sec-websocket-protocol: graphql-transport-ws', 'sec-websocket-protocol: ,,', 'sec-websocket-extensions: ;=,"'],
  ...['host: x', 'host: evil.example:1', 'host:', 'host: [', 'origin: null', 'origin: https://evil.example', 'origin: :'],
  ...['last-event-id: 1', 'last-event-id: -1', 'last-event-id: ,', 'access-control-request-method: POST', 'content-encoding: gzip'],
  ...[
    ' folded',
    'no colon',
    ': no name',
    'bad name: x',
    'nul: \0',
    'bare: \r',
    'x-request-id: \u00ff',
    `long: ${'x'.repeat(20_000)}`,
  ],
];
const header = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...HEADERS) },
  { weight: 1, arbitrary: oddText.map((text) => `x: ${latin1(text)}`) },
);
/** As many as there may be, and more. */
const flood = fc.oneof(
  { weight: 40, arbitrary: fc.constant<string[]>([]) },
  { weight: 1, arbitrary: fc.constantFrom(100, 1_990, 3_000).map((times) => Array<string>(times).fill('a: b')) },
);

const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
const fewBytes = fc.string({ unit: byte, maxLength: 40 });

const BODIES = ['', '{', '[]', 'null', '{"query":"{__typename}"}', '{"query":"subscription{lockChanges{__typename}}"}'];
const body = fc.oneof(
  {
    weight: 6,
    arbitrary: anyOperation.map(({ query, variables }) => latin1(`{"query":${JSON.stringify(query)},"variables":${variables}}`)),
  },
  { weight: 2, arbitrary: fc.constantFrom(...BODIES) },
  { weight: 1, arbitrary: fewBytes },
  { weight: 1, arbitrary: fc.json().map(latin1) },
);

const usual = fc.constantFrom(['host: localhost', 'content-type: application/json'], ['host: localhost']);

const request: fc.Arbitrary<string> = fc
  .tuple(method, target, version, usual, fc.array(header, { maxLength: 5 }), flood, framing, body)
  .map(([how, where, protocol, first, more, many, framed, text]) =>
    [`${how} ${where} ${protocol}`, ...first, ...more, ...many, framed(text)].join('\r\n'),
  );

/** Some requests, whole, cut off, or with some bytes of them changed; or none at all. */
const rawBytes: fc.Arbitrary<string> = fc.oneof(
  { weight: 1, arbitrary: fc.string({ unit: byte, maxLength: 2_000 }) },
  { weight: 6, arbitrary: fc.array(request, { minLength: 1, maxLength: 3 }).map((requests) => requests.join('')) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(request, fc.array(editsOf(fewBytes, 30), { minLength: 1, maxLength: 3 }))
      .map(([text, edits]) => edits.reduce((bytes, edit) => edit(bytes), [...text]).join('')),
  },
  { weight: 2, arbitrary: fc.tuple(request, part()).map(([text, kept]) => text.slice(0, Math.floor(kept * text.length))) },
);

/** What comes on a connection, in pieces. */
export const sending: fc.Arbitrary<Sending> = fc.record({
  bytes: rawBytes,
  cuts: fc.array(part(), { maxLength: 3 }),
  end: fc.constantFrom('finished', 'finished', 'gone after the answer', 'gone at once'),
});

function part(): fc.Arbitrary<number> {
  return fc.double({ min: 0, max: 1, noNaN: true });
}

/** A character for each byte. */
function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}
