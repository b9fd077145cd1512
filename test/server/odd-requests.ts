import { SeededRandom } from '../cluster/random.js';
import {
  ACCEPTS,
  ACQUIRE,
  BODIES,
  CONTENT_TYPES,
  EXTENSIONS,
  JSON_TYPE,
  LOOK,
  METHODS,
  MORE,
  MORE_HEADERS,
  NAMED,
  OPERATION_NAMES,
  QUERIES,
  RESPONSE_TYPE,
  VARIABLES,
  WELL_FORMED,
} from './odd-values.js';

/** A request to the GraphQL endpoint, as it goes over the wire: names of headers may stand there twice. */
export interface OddRequest {
  readonly method: string;
  readonly search: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | null;
  /** Without a length in the header. */
  readonly chunked?: boolean;
}

/** So many requests that few clients send; the same for the same seed. */
export function oddRequests(seed: number, count: number): OddRequest[] {
  const random = new SeededRandom(seed);
  return Array.from({ length: count }, () => oddRequest(random));
}

function oddRequest(random: SeededRandom): OddRequest {
  const method = random.anyOf(METHODS);
  const headers: [string, string][] = [['x-request-id', 'odd']];
  const contentType = random.anyOf(CONTENT_TYPES);
  const accept = random.anyOf(ACCEPTS);
  if (contentType !== null) headers.push(['content-type', contentType]);
  if (accept !== null) headers.push(['accept', accept]);
  while (random.chance(0.2)) headers.push(headerOf(random.anyOf(MORE_HEADERS)));

  const params = {
    query: random.anyOf(QUERIES),
    operationName: random.anyOf(OPERATION_NAMES),
    variables: random.anyOf(VARIABLES),
    extensions: random.anyOf(EXTENSIONS),
  };
  const search = method === 'GET' || random.chance(0.05) ? `?${searchOf(params, random)}` : '';
  if (method === 'GET' || method === 'HEAD') return { method, search, headers, body: null };
  const body = random.chance(0.12) ? random.anyOf(BODIES) : Buffer.from(JSON.stringify({ ...params, ...random.anyOf(MORE) }));
  return { method, search, headers, body, chunked: random.chance(0.1) };
}

function headerOf(line: string): [string, string] {
  const [name = '', value = ''] = line.split(': ');
  return [name, value];
}

function searchOf(params: Readonly<Record<string, unknown>>, random: SeededRandom): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    search.append(name, typeof value === 'string' ? value : JSON.stringify(value));
    if (random.chance(0.05)) search.append(name, 'twice');
  }
  return search.toString();
}

const post = (body: string | Buffer, ...headers: (readonly [string, string])[]): OddRequest => ({
  method: 'POST',
  search: '',
  headers: headers.some(([name]) => name === 'content-type') ? headers : [['content-type', JSON_TYPE], ...headers],
  body: Buffer.from(body),
});

/** What chance might leave out. */
export const KNOWN_REQUESTS: readonly OddRequest[] = [
  ...BODIES.flatMap((body) => [post(body), post(body, ['accept', RESPONSE_TYPE])]),
  ...QUERIES.flatMap((query) => [JSON_TYPE, RESPONSE_TYPE].map((accept) => post(JSON.stringify({ query }), ['accept', accept]))),
  ...VARIABLES.map((variables) => post(JSON.stringify({ query: ACQUIRE, variables }), ['accept', RESPONSE_TYPE])),
  ...OPERATION_NAMES.map((operationName) => post(JSON.stringify({ query: NAMED, operationName, variables: { r: 'a' } }))),
  ...EXTENSIONS.map((extensions) => post(JSON.stringify({ query: LOOK, extensions }))),
  ...CONTENT_TYPES.map((type) => post(WELL_FORMED, ['content-type', type ?? 'none'])),
  ...ACCEPTS.map((accept) => post(WELL_FORMED, ['accept', accept ?? 'none'])),
  ...MORE_HEADERS.map((header) => post(WELL_FORMED, headerOf(header))),
  ...['text/event-stream', `text/event-stream, ${JSON_TYPE}`, `${JSON_TYPE}, text/event-stream`].map((accept) =>
    post(WELL_FORMED, ['accept', accept]),
  ),
  post('{', ['accept', 'text/event-stream']),
  post(JSON.stringify({ query: '{ nothing }' }), ['accept', 'text/event-stream']),
  post(JSON.stringify({ query: `{ lock(resource: "${'x'.repeat(100_000)}") { id } }` })),
  { ...post('x', ['content-length', '1048577']), chunked: true },
  { ...post(Buffer.alloc(1_048_577, ' ')), chunked: true },
  { ...post(Buffer.concat([Buffer.from(WELL_FORMED), Buffer.alloc(1_048_576 - WELL_FORMED.length, ' ')])) },
];
