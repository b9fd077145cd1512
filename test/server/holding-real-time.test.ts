import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startTestApp, startTestApps, type TestApp } from '../support/app.js';
import { createDatabase } from '../support/database.js';
import { readEvents } from '../support/event-source.js';
import { ACQUIRE } from '../support/http-client.js';
import { startServerProcess } from '../support/server-process.js';
import { historyOf, inLine } from '../support/waiting.js';
import { WebSocketClient } from '../support/websocket-client.js';
import { acquireR, HOLD, releaseR } from './waiting.js';

const holdOf = (owner: string, rest: object = {}) => ({ input: { resource: 'r', owner, ttlMs: 60_000, ...rest } });

/** The next update of a hold. */
async function nextOf(client: WebSocketClient): Promise<any> {
  return (await client.expect('next')).payload.data.holdLock;
}

async function startHolding(rest: object = {}): Promise<{ app: TestApp; client: WebSocketClient }> {
  const app = await startTestApp();
  const client = await WebSocketClient.open(app.url);
  client.subscribe('h', HOLD, holdOf('A', rest));
  expect(await nextOf(client)).toEqual({ __typename: 'LockAcquired', lock: { fencingToken: '1' } });
  return { app, client };
}

describe('a lock that is held by a subscription', () => {
  test('is renewed again and again, and never lost, for longer than its TTL', async () => {
    const { app, client } = await startHolding({ ttlMs: 1_500 });
    for (let renewal = 0; renewal < 4; renewal++) {
      expect(await nextOf(client)).toEqual({ __typename: 'LockRenewed', lock: { fencingToken: '1' } });
    }
    expect(await acquireR(app.url, 'B')).toBe('Conflict HELD_BY_ANOTHER');
    client.send({ type: 'complete', id: 'h' });
    await expect.poll(() => acquireR(app.url, 'B')).toBe('LockAcquired B');
  });

  test('is released when the client completes it, and whoever waits has it at once', async () => {
    const { app, client } = await startHolding();
    const next = acquireR(app.url, 'B', 30_000);
    await inLine(app.databaseUrl, 1);
    client.send({ type: 'complete', id: 'h' });
    expect(await next).toBe('LockAcquired B');
    expect(await historyOf(app.databaseUrl, 'r')).toEqual(['ACQUIRED A', 'RELEASED A', 'ACQUIRED B']);
  });

  test('is kept when the socket is cut, and goes on under its token at another instance', async () => {
    const [here, there] = (await startTestApps(2)) as [TestApp, TestApp];
    const cut = await WebSocketClient.open(here.url);
    cut.subscribe('h', HOLD, holdOf('A'));
    await nextOf(cut);
    cut.socket.terminate();
    await expect.poll(() => here.metric('holdfast_watchers')).toBe(0);
    expect(await acquireR(there.url, 'B')).toBe('Conflict HELD_BY_ANOTHER');
    const resumed = await WebSocketClient.open(there.url);
    resumed.subscribe('h', HOLD, holdOf('A', { fencingToken: '1' }));
    expect(await nextOf(resumed)).toEqual({ __typename: 'LockRenewed', lock: { fencingToken: '1' } });
    expect(await historyOf(here.databaseUrl, 'r')).toEqual(['ACQUIRED A', 'RENEWED A']);
    await resumed.close();
  });

  test('that is released elsewhere ends with LockLost and complete', async () => {
    const { app, client } = await startHolding();
    await releaseR(app.url, 'A');
    expect(await nextOf(client)).toEqual({ __typename: 'LockLost', cause: 'RELEASED' });
    await client.expect('complete');
    await client.close();
  });

  test('by server-sent events is kept when the connection breaks', async () => {
    const { url, databaseUrl } = await startTestApp();
    const cut = new AbortController();
    const events = readEvents(url, HOLD, { method: 'POST', variables: holdOf('A'), signal: cut.signal });
    const { value } = await events.next();
    expect(JSON.parse(value?.data ?? '').data.holdLock).toEqual({ __typename: 'LockAcquired', lock: { fencingToken: '1' } });
    cut.abort();
    await expect(events.next()).rejects.toThrow();
    expect(await acquireR(url, 'B')).toBe('Conflict HELD_BY_ANOTHER');
    expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED A']);
  });

  test('can not be asked for by GET, whatever it is called', async () => {
    const { url, databaseUrl } = await startTestApp();
    const hidden =
      'subscription { ...f } fragment f on Subscription { x: holdLock(input: {resource: "r", owner: "A"}) { __typename } }';
    const response = await fetch(`${url}?${new URLSearchParams({ query: hidden })}`, {
      headers: { accept: 'text/event-stream', connection: 'close' },
    });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    await response.text();
    expect(await historyOf(databaseUrl, 'r')).toEqual([]);
  });
});

test('a client that waits and is cut off leaves the line', async () => {
  const { app, client } = await startHolding();
  const waiting = await WebSocketClient.open(app.url);
  waiting.subscribe('h', HOLD, holdOf('B'));
  expect(await nextOf(waiting)).toEqual({ __typename: 'LockQueued', position: 1 });
  waiting.socket.terminate();
  await inLine(app.databaseUrl, 0);
  await client.close();
});

test('holds and waits that are cut off at random leave nothing behind', async () => {
  const app = await startTestApp();
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  await acquireR(app.url, 'A');
  const before = timers();
  for (let round = 0; round < 10; round++) {
    const clients = await Promise.all(Array.from({ length: 10 }, () => WebSocketClient.open(app.url)));
    for (const [n, client] of clients.entries()) {
      const input = { resource: n % 3 === 0 ? `own:${round}:${n}` : 'r', owner: `o:${n}`, ttlMs: 60_000 };
      if (n % 2 === 0) client.subscribe('1', HOLD, { input });
      else client.subscribe('1', ACQUIRE, { input: { ...input, waitMs: 30_000 } });
      setTimeout(() => {
        if (n % 5 === 0) client.send({ type: 'complete', id: '1' });
        client.socket.terminate();
      }, Math.random() * 30);
    }
    await Promise.all(clients.map(({ closed }) => closed));
  }
  await inLine(app.databaseUrl, 0);
  for (const metric of ['holdfast_waiting_calls', 'holdfast_watchers', 'holdfast_websockets']) {
    await expect.poll(() => app.metric(metric), { message: metric, timeout: 5_000 }).toBe(0);
  }
  // Whoever polls has a few; each kind of call that left one would have left at least ten.
  await expect.poll(timers, { timeout: 5_000 }).toBeLessThan(before + 5);
});

describe('a server that gets SIGTERM', () => {
  test('tells those who wait to try elsewhere and those who hold that it goes, grants nothing, and exits with 0', async () => {
    const databaseUrl = await createDatabase();
    const server = await startServerProcess({ DATABASE_URL: databaseUrl });
    const holder = await WebSocketClient.open(server.url);
    holder.subscribe('h', HOLD, holdOf('A'));
    await nextOf(holder);
    const events = readEvents(server.url, HOLD, { method: 'POST', variables: { input: { resource: 'other', owner: 'A' } } });
    await events.next();
    const waiter = await WebSocketClient.open(server.url);
    waiter.subscribe('w', ACQUIRE, { input: { resource: 'r', owner: 'B', waitMs: 30_000 } });
    const waiting = ['C', 'D'].map((owner) => acquireR(server.url, owner, 30_000));
    await inLine(databaseUrl, 3);
    const signalled = performance.now();
    server.process.kill('SIGTERM');
    expect(await Promise.all(waiting)).toEqual(['UNAVAILABLE false', 'UNAVAILABLE false']);
    expect((await waiter.expect('next')).payload.errors[0].extensions).toEqual({
      code: 'UNAVAILABLE',
      retryable: true,
      applied: false,
    });
    expect(await nextOf(holder)).toEqual({ __typename: 'LockLost', cause: 'SHUTDOWN' });
    expect((await holder.closed).code).toBe(1001);
    const { value } = await events.next();
    expect(JSON.parse(value?.data ?? '').data.holdLock).toEqual({ __typename: 'LockLost', cause: 'SHUTDOWN' });
    expect(await server.exited).toBe(0);
    expect(performance.now() - signalled).toBeLessThan(10_000);
    await inLine(databaseUrl, 0);
    expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED A']);
  });

  test(
    'while the holder releases in the same moment grants to no caller that was told otherwise',
    { timeout: 60_000 },
    async () => {
      for (let round = 0; round < 3; round++) {
        const databaseUrl = await createDatabase();
        const server = await startServerProcess({ DATABASE_URL: databaseUrl });
        await acquireR(server.url, 'A');
        const waiting = acquireR(server.url, 'B', 30_000);
        await inLine(databaseUrl, 1);
        const released = releaseR(server.url, 'A').catch(() => undefined);
        await sleep(round);
        server.process.kill('SIGTERM');
        const answer = await waiting;
        await released;
        expect(await server.exited).toBe(0);
        const granted = (await historyOf(databaseUrl, 'r')).includes('ACQUIRED B');
        expect(answer).toBe(granted ? 'LockAcquired B' : 'UNAVAILABLE false');
      }
    },
  );
});
