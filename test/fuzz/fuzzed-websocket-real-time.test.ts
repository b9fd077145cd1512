import fc from 'fast-check';
import { test } from 'vitest';
import { shared } from '../support/shared.js';
import { exchange } from './connection.js';
import { anyOperation, brokenOperation } from './documents.js';
import { FuzzedServer, TIME_MS } from './fuzzed-server.js';
import { conversation } from './protocol-messages.js';
import { converse, expectFrames, operate } from './talk.js';
import { frameSending } from './websocket-frames.js';

const server = shared(() => FuzzedServer.start());

const UPGRADE = [
  ...['GET /graphql HTTP/1.1', 'host: localhost', 'connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'],
  ...['sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-protocol: graphql-transport-ws', '', ''],
].join('\r\n');

test(
  'whatever frames come are answered by the protocol, or closed with a code that blames their sender',
  { timeout: TIME_MS },
  async () => {
    const fuzzed = await server();
    await fuzzed.survive(fc.array(frameSending, { minLength: 1, maxLength: 8 }), { full: 4_000, quick: 60 }, async (several) => {
      const upgraded = several.map((one) => ({ ...one, bytes: UPGRADE + one.bytes }));
      const received = await Promise.all(upgraded.map((one) => exchange(fuzzed.origin, one)));
      received.forEach(expectFrames);
    });
  },
);

test(
  'whatever messages come, in whatever order, the socket goes on or is closed with a code that blames its client',
  { timeout: TIME_MS },
  async () => {
    const fuzzed = await server();
    await fuzzed.survive(conversation, { full: 4_000, quick: 150 }, (turns) => converse(fuzzed.url, turns));
  },
);

test(
  'any operation with any values is answered with data or with documented errors, and the socket stays open',
  { timeout: TIME_MS },
  async () => {
    const fuzzed = await server();
    await fuzzed.survive(fc.oneof(anyOperation, brokenOperation), { full: 20_000, quick: 500 }, ({ query, variables }) =>
      operate(fuzzed.url, `{"query":${JSON.stringify(query)},"variables":${variables}}`, !query.includes('subscription')),
    );
  },
);
