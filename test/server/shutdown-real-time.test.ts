import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { databaseName } from '../../src/store/database-url.js';
import { startTestApp } from '../support/app.js';
import { createDatabase } from '../support/database.js';
import { ACQUIRE, post } from '../support/http-client.js';
import { startServerProcess } from '../support/server-process.js';
import { WebSocketClient } from '../support/websocket-client.js';

const PATIENCE_MS = 10_000;
/** Over which names are acquired at a time. */
const CONNECTIONS = 2;
const WATCH = 'subscription { lockChanges(filter: { prefix: "watched:" }) { __typename } }';

/** Reads a stream of events until its connection ends, in whatever way. */
interface Stream {
  readonly text: string;
  readonly cutOff: boolean;
}

/** @returns when it has begun, how it ends. */
async function openStream(url: string): Promise<() => Promise<Stream>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ query: WATCH }),
  });
  const ended = readToEnd(response);
  return () => ended;
}

async function readToEnd({ body }: Response): Promise<Stream> {
  let text = '';
  try {
    for await (const chunk of body ?? []) text += new TextDecoder().decode(chunk);
    return { text, cutOff: false };
  } catch {
    return { text, cutOff: true };
  }
}

/** Acquires fresh names, up to 50 a second, until told to stop: the names that were answered with a lock, and those cut off. */
function acquireSteadily(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const acquired: string[] = [];
  const cutOff: string[] = [];
  const stopped = new AbortController();
  const acquireOne = (resource: string) =>
    new Promise<void>((resolve) => {
      const sent = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json' } }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('error', () => {
          cutOff.push(resource);
          resolve();
        });
        response.on('end', () => {
          if (text.includes('"LockAcquired"')) acquired.push(resource);
          resolve();
        });
      });
      sent.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNRESET') cutOff.push(resource);
        resolve();
      });
      sent.end(JSON.stringify({ query: ACQUIRE, variables: { input: { resource, owner: 'A' } } }));
    });
  const loop = (async () => {
    const underWay: Promise<void>[] = [];
    for (let n = 0; !stopped.signal.aborted; n++) {
      underWay.push(acquireOne(`fresh:${n}`));
      await sleep(20);
    }
    await Promise.all(underWay);
    agent.destroy();
  })();
  return {
    acquired,
    cutOff,
    stop: async () => {
      stopped.abort();
      await loop;
    },
  };
}

describe('a server that gets SIGTERM', () => {
  test('answers what is under way, ends streams as going away, refuses what is new, and exits with 0', async () => {
    const databaseUrl = await createDatabase();
    const server = await startServerProcess({ DATABASE_URL: databaseUrl });
    const sockets = await Promise.all(Array.from({ length: 20 }, () => WebSocketClient.open(server.url)));
    for (const socket of sockets) {
      socket.subscribe('w', WATCH);
      await socket.expect('next');
    }
    const streams = await Promise.all(Array.from({ length: 5 }, () => openStream(server.url)));
    const load = acquireSteadily(server.url);
    await expect.poll(() => load.acquired.length, { timeout: PATIENCE_MS }).toBeGreaterThan(10);

    const signalled = performance.now();
    server.process.kill('SIGTERM');
    const ends = await Promise.all(sockets.map(async (socket) => [await socket.closed, await allTypes(socket)] as const));
    for (const [close, types] of ends) {
      expect(close.code).toBe(1001);
      expect(types).not.toContain('complete');
    }
    for (const { text, cutOff } of await Promise.all(streams.map((ended) => ended()))) {
      expect(text).toContain('LockSnapshot');
      expect(text).not.toContain('complete');
      expect(cutOff).toBe(true);
    }
    expect(await server.exited).toBe(0);
    expect(performance.now() - signalled).toBeLessThan(10_000);
    await expect(fetch(server.url.replace('/graphql', '/health/live'))).rejects.toThrow();
    await load.stop();

    // The kernel cuts off what was connecting just then and not accepted yet. Whoever comes later is refused.
    expect(load.cutOff.length).toBeLessThanOrEqual(CONNECTIONS);
    // Whoever was cut off holds nothing.
    expect(await heldFreshNames(databaseUrl)).toEqual(load.acquired.toSorted());
  });

  test('twice in one moment, as by Ctrl+C under npm, is one', async () => {
    const server = await startServerProcess({ DATABASE_URL: await createDatabase() });
    server.process.kill('SIGINT');
    server.process.kill('SIGTERM');
    expect(await server.exited).toBe(0);
  });

  test('again, some time after the first, ends at once', async () => {
    const server = await startServerProcess({ DATABASE_URL: await createDatabase() });
    // A request whose body never comes: the first signal waits for it.
    const headers = { 'content-type': 'application/json', 'content-length': '100', expect: '100-continue' };
    const slow = request(server.url, { method: 'POST', headers });
    slow.on('error', () => undefined);
    slow.flushHeaders();
    await once(slow, 'continue');
    const signalled = performance.now();
    server.process.kill('SIGTERM');
    const takesMore = () =>
      fetch(server.url.replace('/graphql', '/health/live')).then(
        ({ ok }) => ok,
        () => false,
      );
    await expect.poll(takesMore, { interval: 10, timeout: PATIENCE_MS }).toBe(false);
    const again = setInterval(() => server.process.kill('SIGTERM'), 50);
    expect(await server.exited).toBe(143);
    clearInterval(again);
    expect(performance.now() - signalled).toBeLessThan(PATIENCE_MS / 2);
  });

  test('starts again on its database, which it names, with the locks it left', async () => {
    const databaseUrl = await createDatabase();
    const first = await startServerProcess({ DATABASE_URL: databaseUrl });
    await post(first.url, ACQUIRE, { input: { resource: 'fresh:1', owner: 'A' } });
    first.process.kill('SIGINT');
    expect(await first.exited).toBe(0);
    const second = await startServerProcess({ DATABASE_URL: databaseUrl });
    expect(second.database).toBe(databaseName(databaseUrl));
    expect((await post(second.url, '{ lock(resource: "fresh:1") { owner fencingToken } }')).data).toEqual({
      lock: { owner: 'A', fencingToken: '1' },
    });
  });
});

async function allTypes(socket: WebSocketClient): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of socket) types.push(type);
  return types;
}

async function heldFreshNames(databaseUrl: string): Promise<string[]> {
  const { url } = await startTestApp({ env: { DATABASE_URL: databaseUrl } });
  const { data } = await post(url, '{ locks(filter: { prefix: "fresh:" }, first: 500) { edges { node { resource } } } }');
  const edges = (data?.['locks'] as { edges: { node: { resource: string } }[] }).edges;
  return edges.map(({ node }) => node.resource).toSorted();
}
