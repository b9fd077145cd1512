import { describe, expect, onTestFinished, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { ACQUIRE } from '../support/http-client.js';
import { rounds } from '../support/rounds.js';
import { historyOf, inLine } from '../support/waiting.js';
import { WebSocketClient } from '../support/websocket-client.js';
import { connectRaw, requestOf } from './raw-http.js';
import { acquireR, releaseR } from './waiting.js';

const WAIT = { query: ACQUIRE, variables: { input: { resource: 'r', owner: 'B', ttlMs: 60_000, waitMs: 30_000 } } };
const WAIT_MESSAGE = { type: 'subscribe', id: '1', payload: WAIT };
const REQUEST = requestOf(['POST /graphql HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'], JSON.stringify(WAIT));

/** Lets B stand in line, and resolves to how it goes. */
const CLIENTS: Readonly<Record<string, (url: string) => Promise<() => void>>> = {
  'cuts its HTTP connection': async (url) => {
    const socket = await connectRaw(url);
    socket.write(REQUEST);
    return () => socket.destroy();
  },
  'ends its HTTP connection': async (url) => {
    const socket = await connectRaw(url);
    socket.write(REQUEST);
    return () => socket.end();
  },
  'completes its operation over a WebSocket': async (url) => {
    const client = await WebSocketClient.open(url);
    client.send(WAIT_MESSAGE);
    return () => client.send({ type: 'complete', id: '1' });
  },
  'cuts its WebSocket': async (url) => {
    const client = await WebSocketClient.open(url);
    client.send(WAIT_MESSAGE);
    return () => client.socket.terminate();
  },
};

describe('a caller that stands in line', () => {
  test.each(Object.keys(CLIENTS))('and %s is passed over: the next one is served at once', async (how) => {
    const { url, databaseUrl } = await startTestApp();
    await acquireR(url, 'A');
    const go = await CLIENTS[how]?.(url);
    await inLine(databaseUrl, 1);
    const next = acquireR(url, 'C', 30_000);
    await inLine(databaseUrl, 2);
    go?.();
    await inLine(databaseUrl, 1);
    const releasedAt = performance.now();
    await releaseR(url, 'A');
    expect(await next).toBe('LockAcquired C');
    expect(performance.now() - releasedAt).toBeLessThan(1_000);
    expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED A', 'RELEASED A', 'ACQUIRED C']);
  });

  test('is one of many on one HTTP connection, which is no reason for a warning', async () => {
    const { url, databaseUrl } = await startTestApp();
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    await acquireR(url, 'A');
    const socket = await connectRaw(url);
    socket.write(REQUEST.repeat(20));
    await inLine(databaseUrl, 20);
    socket.destroy();
    await inLine(databaseUrl, 0);
    expect(warnings).toEqual([]);
  });

  test('behind another request on one HTTP connection leaves the line, too, when that is cut', async () => {
    const { url, databaseUrl } = await startTestApp();
    await acquireR(url, 'A');
    const socket = await connectRaw(url);
    socket.write(REQUEST + REQUEST);
    await inLine(databaseUrl, 2);
    socket.destroy();
    await inLine(databaseUrl, 0);
  });

  test.each([0, 1, 5, 20])('and cuts its WebSocket %i ms after it sent all at once never gets the lock', async (afterMs) => {
    const { url, databaseUrl } = await startTestApp();
    await acquireR(url, 'A');
    const client = await WebSocketClient.connect(url);
    client.send({ type: 'connection_init' });
    client.send(WAIT_MESSAGE);
    setTimeout(() => client.socket.terminate(), afterMs);
    await client.closed;
    const next = acquireR(url, 'C', 30_000);
    await expect.poll(() => inLine(databaseUrl, 1)).toBeUndefined();
    await releaseR(url, 'A');
    expect(await next).toBe('LockAcquired C');
    expect((await historyOf(databaseUrl, 'r')).filter((event) => event.endsWith('B'))).toEqual([]);
  });

  test('and goes at the very moment of its turn keeps others waiting only where it was answered before: then for its TTL', async () => {
    const { url, databaseUrl } = await startTestApp();
    for (let round = 0; round < rounds(100, 10); round++) {
      await acquireR(url, 'A');
      const client = await WebSocketClient.open(url);
      const input = { ...WAIT.variables.input, ttlMs: 300 };
      client.subscribe('1', ACQUIRE, { input });
      await inLine(databaseUrl, 1);
      const next = acquireR(url, 'C', 30_000);
      await inLine(databaseUrl, 2);
      const released = releaseR(url, 'A');
      setTimeout(() => client.socket.terminate(), round % 10);
      await released;
      expect(await next).toBe('LockAcquired C');
      await releaseR(url, 'C');
    }
  });

  test('and is told that its time is up holds nothing: whoever comes then gets the lock, or it was told that it has it', async () => {
    const { url } = await startTestApp();
    for (let round = 0; round < rounds(300); round++) {
      await acquireR(url, 'A');
      const waiting = acquireR(url, 'B', 100);
      await new Promise((resolve) => setTimeout(resolve, 90 + (round % 21)));
      await releaseR(url, 'A');
      const answers = [await waiting, await acquireR(url, 'C')];
      expect(answers).toSatisfy(([b, c]: string[]) =>
        b === 'LockAcquired B' ? c === 'Conflict HELD_BY_ANOTHER' : c === 'LockAcquired C',
      );
      await releaseR(url, answers[0] === 'LockAcquired B' ? 'B' : 'C');
    }
  });

  test('for a lock that expires on a server that does nothing else has it within 2 seconds', async () => {
    const { url, databaseUrl } = await startTestApp();
    const client = await WebSocketClient.open(url);
    const input = { resource: 'r', owner: 'A', ttlMs: 1_000 };
    const { data } = await client.run(
      `mutation ($input: AcquireLockInput!) { acquireLock(input: $input) { ... on LockAcquired { lock { expiresAt } } } }`,
      { input },
    );
    expect(await acquireR(url, 'B', 20_000)).toBe('LockAcquired B');
    expect(Date.now() - Date.parse(data.acquireLock.lock.expiresAt)).toBeLessThan(2_000);
    expect(await historyOf(databaseUrl, 'r')).toEqual(['ACQUIRED A', 'EXPIRED A', 'ACQUIRED B']);
  });
});
