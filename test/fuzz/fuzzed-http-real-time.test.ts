import fc from 'fast-check';
import { test } from 'vitest';
import { shared } from '../support/shared.js';
import { expectAnswers, expectResult, expectStatus } from './answers.js';
import { exchange } from './connection.js';
import type { Operation } from './document-writer.js';
import { anyOperation, brokenOperation } from './documents.js';
import { FuzzedServer, TIME_MS } from './fuzzed-server.js';
import { sending } from './http-bytes.js';

const server = shared(() => FuzzedServer.start());

const ACCEPTS = ['application/json', 'application/graphql-response+json', 'text/event-stream', '*/*'];
/** A stream of events goes on: of it only the first bytes are read. */
const ANSWER_MS = 5_000;

/** Node itself refuses what is longer than headers may be. */
const LONGEST_SEARCH = 8_000;

interface Asked extends Operation {
  readonly accept: string;
  readonly byGet: boolean;
}

const asked = (operation: fc.Arbitrary<Operation>): fc.Arbitrary<Asked> =>
  fc
    .tuple(operation, fc.constantFrom(...ACCEPTS), fc.constantFrom(false, false, false, true))
    .map(([sent, accept, byGet]) => ({ ...sent, accept, byGet }));

async function ask(url: string, { query, variables, accept, byGet }: Asked): Promise<void> {
  const search = `?${new URLSearchParams({ query: query.toWellFormed(), variables }).toString()}`;
  const body = `{"query":${JSON.stringify(query)},"variables":${variables}}`;
  const inSearch = byGet && search.length < LONGEST_SEARCH;
  const cut = new AbortController();
  const signal = AbortSignal.any([cut.signal, AbortSignal.timeout(ANSWER_MS)]);
  const headers = { accept, 'content-type': 'application/json' };
  const response = await fetch(inSearch ? `${url}${search}` : url, {
    method: inSearch ? 'GET' : 'POST',
    body: inSearch ? null : body,
    headers,
    signal,
  });
  expectStatus(response.status);
  if (response.headers.get('content-type') === 'text/event-stream') await readEvents(response, cut);
  else expectResult(await response.json());
}

async function readEvents(response: Response, cut: AbortController): Promise<void> {
  let text = '';
  const soon = setTimeout(() => cut.abort(), 20);
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  } catch (error) {
    if (!cut.signal.aborted) throw error;
  }
  clearTimeout(soon);
  for (const [, data = ''] of text.matchAll(/^data: (.+)\n\n/gm)) expectResult(JSON.parse(data));
}

test('whatever bytes come are answered as HTTP or not at all, and leave nothing behind', { timeout: TIME_MS }, async () => {
  const fuzzed = await server();
  await fuzzed.survive(fc.array(sending, { minLength: 1, maxLength: 8 }), { full: 4_000, quick: 60 }, async (several) => {
    const received = await Promise.all(several.map((one) => exchange(fuzzed.origin, one)));
    received.forEach(expectAnswers);
  });
});

test('any operation with any values is answered with data or with documented errors', { timeout: TIME_MS }, async () => {
  const fuzzed = await server();
  await fuzzed.survive(asked(anyOperation), { full: 20_000, quick: 600 }, (one) => ask(fuzzed.url, one));
});

test('an operation whose tokens are out of order is answered with documented errors', { timeout: TIME_MS }, async () => {
  const fuzzed = await server();
  await fuzzed.survive(asked(brokenOperation), { full: 10_000, quick: 200 }, (one) => ask(fuzzed.url, one));
});
