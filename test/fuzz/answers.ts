import { expect } from 'vitest';
import { ErrorCode } from '../../src/graphql/errors.js';

const CODES: ReadonlySet<unknown> = new Set(Object.values(ErrorCode).filter((code) => code !== ErrorCode.internal));

/** A status that says whose fault it was, or that there is nothing to be had for now; never a fault of the server. */
export function expectStatus(status: number): void {
  const isFault = status >= 500 && status !== 503;
  expect(isFault ? status : 'no fault').toBe('no fault');
}

/** A result of GraphQL, whose errors are documented ones. */
export function expectResult(result: any): void {
  expect(typeof result === 'object' && result !== null && ('data' in result || 'errors' in result), JSON.stringify(result)).toBe(
    true,
  );
  if ('errors' in result) expectErrors(result.errors);
}

export function expectErrors(errors: any): void {
  expect(Array.isArray(errors) && errors.length > 0, JSON.stringify(errors)).toBe(true);
  for (const error of errors) {
    expect(typeof error.message === 'string' && CODES.has(error.extensions?.code), JSON.stringify(error)).toBe(true);
  }
}

const ENDS = /\r\n\r\n/;

/**
 * Reads all the answers of a connection, each of which must be one of HTTP and as long as it says: only streams may be cut off.
 * After a change of the protocol, what comes is not HTTP.
 */
export function expectAnswers(received: string): void {
  for (let rest = received; rest !== '';) {
    const end = ENDS.exec(rest)?.index ?? -1;
    const [statusLine = '', ...lines] = rest.slice(0, Math.max(end, 0)).split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [ -~]+$/.exec(statusLine)?.[1]);
    expect(status, `no answer of HTTP: ${JSON.stringify(rest.slice(0, 500))}`).toBeGreaterThan(0);
    expectStatus(status);
    if (status === 101) return;
    const headers = new Map(lines.map(readHeader));
    const { body, length } = readBody(status, headers, rest.slice(end + 4));
    if (headers.get('content-type')?.includes('json') === true) expectResult(JSON.parse(utf8(body)));
    rest = rest.slice(end + 4 + length);
  }
}

function readHeader(line: string): [string, string] {
  const [, name = '', value = ''] = /^([\w-]+): ?([ -~]*)$/.exec(line) ?? [];
  expect(name, `no header: ${JSON.stringify(line)}`).not.toBe('');
  return [name.toLowerCase(), value];
}

interface Body {
  readonly body: string;
  /** With what says how long it is. */
  readonly length: number;
}

function readBody(status: number, headers: ReadonlyMap<string, string>, rest: string): Body {
  if (status < 200 || status === 204 || status === 304) return { body: '', length: 0 };
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(rest, headers.get('content-type') === 'text/event-stream');
  const given = headers.get('content-length');
  const length = given === undefined ? rest.length : Number(given);
  expect(rest.length, 'an answer was cut off').toBeGreaterThanOrEqual(length);
  return { body: rest.slice(0, length), length };
}

function readChunks(text: string, mayBeCutOff: boolean): Body {
  let body = '';
  for (let at = 0; ;) {
    const [head = '', size = ''] = /^([\da-f]+)\r\n/.exec(text.slice(at, at + 20)) ?? [];
    const bytes = parseInt(size, 16);
    const next = at + head.length + bytes + 2;
    const isWhole = text.slice(next - 2, next) === '\r\n';
    if (!isWhole && mayBeCutOff) return { body, length: text.length };
    expect(isWhole, `chunks of ${JSON.stringify(text)}`).toBe(true);
    if (bytes === 0) return { body, length: next };
    body += text.slice(at + head.length, next - 2);
    at = next;
  }
}

/** What is received is kept with a character for each byte. */
function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString();
}
