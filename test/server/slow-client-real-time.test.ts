import { once } from 'node:events';
import { connect } from 'node:net';
import { getIntrospectionQuery } from 'graphql';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startTestApp } from '../support/app.js';
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

  test('sees every change it watches, in order', async () => {
    const { url } = await startTestApp();
    const watcher = await WebSocketClient.open(url);
    watcher.subscribe('w', 'subscription { lockChanges(snapshot: false) { __typename ... on LockEvent { revision } } }');
    await watcher.expect('next');
    watcher.socket.pause();
    const worker = await WebSocketClient.open(url);
    const count = 3_000;
    for (let n = 0; n < count; n++) await worker.run(ACQUIRE, { input: { resource: `job:${n}`, owner: 'A' } });

    watcher.socket.resume();
    const revisions: string[] = [];
    while (revisions.length < count) {
      const { payload } = await watcher.next();
      const { revision } = payload.data.lockChanges as { revision?: string };
      if (revision !== undefined) revisions.push(revision);
    }
    expect(revisions).toEqual(Array.from({ length: count }, (_, n) => String(n + 1)));
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
