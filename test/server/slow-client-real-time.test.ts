import { once } from 'node:events';
import { connect } from 'node:net';
import { getIntrospectionQuery } from 'graphql';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { heapInUse } from '../support/heap.js';
import { acquireLock, ACQUIRE } from '../support/http-client.js';
import { WebSocketClient } from '../support/websocket-client.js';

describe('a client that does not read for a while', () => {
  test('gets every answer once it reads, and keeps nobody else waiting', async () => {
    const { url } = await startTestApp();
    const client = await WebSocketClient.open(url);
    client.socket.pause();
    // Each answer has tens of kilobytes: far more together than a socket may hold unsent.
    for (let id = 0; id < 400; id++) client.subscribe(String(id), getIntrospectionQuery());
    await sleep(1_000);
    const asked = performance.now();
    await acquireLock(url, 'job:1', 'A');
    expect(performance.now() - asked).toBeLessThan(1_000);

    client.socket.resume();
    const completed = new Set<string | undefined>();
    while (completed.size < 400) {
      const { type, id } = await client.next();
      if (type === 'complete') completed.add(id);
    }
  });
});

const WATCH = `subscription { lockChanges(snapshot: false) { __typename ... on LockEvent { revision metadata } } }`;
const READERS = 10;
const CHANGES = 3_000;
/** As long as it may be: what all changes take on one watch is more than a connection holds by itself. */
const NOTE = 'x'.repeat(4_000);
const LANES = 50;
/** For ten readers it would be 120 MB, had anybody to keep for each what it does not read. */
const HEAP_BYTES = 8_000_000;
/** How long the server keeps what it read of the log for one that is behind. */
const KEPT_MS = 1_000;

async function startWatch(url: string): Promise<WebSocketClient> {
  const client = await WebSocketClient.open(url);
  client.subscribe('w', WATCH);
  await client.expect('next');
  return client;
}

async function changeManyTimes(url: string): Promise<void> {
  let next = 0;
  const work = async () => {
    const worker = await WebSocketClient.open(url);
    while (next < CHANGES) await worker.run(ACQUIRE, { input: { resource: `job:${next++}`, owner: 'A', metadata: NOTE } });
    await worker.close();
  };
  await Promise.all(Array.from({ length: LANES }, work));
}

async function readRevisions(client: WebSocketClient): Promise<string[]> {
  const revisions: string[] = [];
  while (revisions.length < CHANGES) {
    const { revision } = (await client.next()).payload.data.lockChanges as { revision?: string };
    if (revision !== undefined) revisions.push(revision);
  }
  return revisions;
}

describe('watches whose clients do not read for a while', { timeout: 60_000 }, () => {
  test('take no memory meanwhile, delay no other, and then tell every change, in order', async () => {
    const { url } = await startTestApp();
    const stalled = await Promise.all(Array.from({ length: READERS }, () => startWatch(url)));
    const other = await startWatch(url);
    for (const { socket } of stalled) socket.pause();
    const before = heapInUse();
    const told = readRevisions(other);
    await changeManyTimes(url);
    const all = Array.from({ length: CHANGES }, (_, n) => String(n + 1));
    expect(await told).toEqual(all);
    await sleep(2 * KEPT_MS);
    expect(heapInUse() - before).toBeLessThan(HEAP_BYTES);

    for (const { socket } of stalled) socket.resume();
    for (const client of stalled) expect(await readRevisions(client)).toEqual(all);
  });

  test('sees every change by server-sent events, in order', async () => {
    const { url } = await startTestApp();
    const { hostname, port, host } = new URL(url);
    const query = 'subscription{lockChanges(snapshot:false){...on LockEvent{revision metadata}}}';
    const watcher = connect(Number(port), hostname);
    onTestFinished(() => void watcher.destroy());
    watcher.write(`GET /graphql?query=${encodeURIComponent(query)} HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\n\r\n`);
    await once(watcher, 'readable');
    const worker = await WebSocketClient.open(url);
    const count = 3_000;
    // More than the two ends of the connection take.
    const metadata = { text: 'x'.repeat(4_000) };
    for (let n = 0; n < count; n++) await worker.run(ACQUIRE, { input: { resource: `job:${n}`, owner: 'A', metadata } });

    const revisions: string[] = [];
    let received = '';
    for await (const chunk of watcher.setEncoding('utf8') as AsyncIterable<string>) {
      received += chunk;
      const lines = received.split('\n');
      received = lines.pop() ?? '';
      revisions.push(...lines.flatMap((line) => /"revision":"(\d+)"/.exec(line)?.[1] ?? []));
      if (revisions.length >= count) break;
    }
    expect(revisions).toEqual(Array.from({ length: count }, (_, n) => String(n + 1)));
  });
});

describe('many watches of one socket whose client does not read', { timeout: 60_000 }, () => {
  test('hold one part of a snapshot in memory together, and then tell theirs one after the other', async () => {
    const { url } = await startTestApp();
    const [locks, watches, name] = [100, 200, 'n'.repeat(200)];
    const worker = await WebSocketClient.open(url);
    for (let n = 0; n < locks; n++) await worker.run(ACQUIRE, { input: { resource: `${name}:${n}`, owner: 'A', metadata: NOTE } });
    await worker.close();
    const client = await WebSocketClient.open(url);
    client.socket.pause();
    const before = heapInUse();
    const query = `subscription ($prefix: String) { lockChanges(filter: { prefix: $prefix }) {
      ... on LockSnapshot { complete locks { metadata } } } }`;
    // Each of something else: what they have in common is read once.
    for (let n = 0; n < watches; n++) client.subscribe(String(n), query, { prefix: name.slice(0, n) });
    await sleep(2_000);
    // All the parts would be 80 MB.
    expect(heapInUse() - before).toBeLessThan(HEAP_BYTES);

    client.socket.resume();
    const counts = new Map<string, number>();
    for (let complete = 0; complete < watches;) {
      const { id = '', payload } = await client.expect('next');
      const part = payload.data.lockChanges as { complete: boolean; locks: object[] };
      counts.set(id, (counts.get(id) ?? 0) + part.locks.length);
      if (part.complete) complete += 1;
    }
    expect(new Set(counts.values())).toEqual(new Set([locks]));
    expect(counts.size).toBe(watches);
  });
});
