import { expect, onTestFinished, vi } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.js';
import { acquireLock, post } from '../support/http-client.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** One change of a watch, as any client gives it out. */
export type Change = Readonly<Record<string, any>>;

/** A client of the service as its users have one, which watches all names that begin with `job:`. */
export interface Watching {
  /** The type of the answer. */
  acquire(resource: string, owner: string): Promise<string>;
  close(): void | Promise<void>;
}

/** Connects, and tells every change; reconnects by itself, for as long as it takes. */
export type Connect = (url: string, onChange: (change: Change) => void) => Watching;

export const WATCH = `subscription Watch {
  lockChanges(filter: { prefix: "job:" }) {
    __typename
    ... on LockSnapshot { logId revision reason part complete locks { id resource owner fencingToken expiresAt revision } }
    ... on LockEvent { id revision type resource owner lockId lock { id resource owner fencingToken expiresAt revision } }
    ... on LockBookmark { logId revision }
  }
}`;

export const ACQUIRE = `mutation Acquire($resource: String!, $owner: String!) {
  acquireLock(input: { resource: $resource, owner: $owner }) {
    __typename
    ... on LockAcquired { reacquired lock { id resource owner fencingToken expiresAt revision } }
    ... on LockError { message }
  }
}`;

/** What graphql-ws and graphql-sse have in common. */
interface StreamClient {
  subscribe(
    payload: { readonly query: string },
    sink: { next(result: { data?: Record<string, any> | null }): void; error(error: unknown): void; complete(): void },
  ): () => void;
  iterate(payload: {
    readonly query: string;
    readonly variables: Record<string, unknown>;
  }): AsyncIterableIterator<{ data?: Record<string, any> | null }>;
  dispose(): void | Promise<void>;
}

/** Watches and acquires through such a client. */
export function watchThrough(client: StreamClient, onChange: (change: Change) => void): Watching {
  client.subscribe(
    { query: WATCH },
    {
      next: ({ data }) => onChange(data!['lockChanges']),
      error: (error) => {
        throw error;
      },
      complete: () => undefined,
    },
  );
  return {
    acquire: async (resource, owner) => {
      for await (const { data } of client.iterate({ query: ACQUIRE, variables: { resource, owner } })) {
        return data!['acquireLock'].__typename;
      }
      throw new Error('No answer came');
    },
    close: () => client.dispose(),
  };
}

/** How long a client waits before it tries again, in these tests. */
export const RETRY_MS = 50;

/** What a watcher knows from what it was told. */
class Knowledge {
  readonly #holders = new Map<string, string>();
  snapshots = 0;

  apply(change: Change): void {
    if (change['__typename'] === 'LockSnapshot') {
      if (change['part'] === 1) this.#holders.clear();
      for (const { resource, owner } of change['locks']) this.#holders.set(resource, owner);
      if (change['complete'] === true) this.snapshots += 1;
    } else if (change['type'] === 'RELEASED' || change['type'] === 'EXPIRED') {
      this.#holders.delete(change['resource']);
    } else if (change['__typename'] === 'LockEvent') {
      this.#holders.set(change['resource'], change['owner']);
    }
  }

  async becomes(holders: object): Promise<void> {
    await expect.poll(() => Object.fromEntries(this.#holders), { timeout: 10_000 }).toEqual(holders);
  }
}

const RELEASE = 'mutation ($input: ReleaseLockInput!) { releaseLock(input: $input) { __typename } }';
const HELD = '{ locks(filter: { prefix: "job:" }, first: 500) { edges { node { resource owner } } } }';

async function release({ url }: TestApp, resource: string, owner: string): Promise<void> {
  await post(url, RELEASE, { input: { resource, owner } });
}

async function heldNow({ url }: TestApp): Promise<object> {
  const edges = (await post(url, HELD)).data?.['locks'].edges as { node: { resource: string; owner: string } }[];
  return Object.fromEntries(edges.map(({ node }) => [node.resource, node.owner]));
}

/**
 * Lets a client acquire and watch, breaks its connection while others change locks, and expects it to know the truth again
 * each time that it is back.
 *
 * @param resumes whether it goes on from the last revision that it knows; else it begins each time with a snapshot.
 */
export async function expectToComeBack(connect: Connect, { resumes = false } = {}): Promise<void> {
  const complaints = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')];
  const app = await startTestApp();
  const proxy = await TcpProxy.start(app.url);
  const known = new Knowledge();
  const client = connect(proxy.through(app.url), (change) => known.apply(change));
  onTestFinished(() => client.close());
  await known.becomes({});
  expect(await client.acquire('job:mine', 'me')).toBe('LockAcquired');
  expect(await client.acquire('job:mine', 'somebody else')).toBe('Conflict');
  await known.becomes({ 'job:mine': 'me' });

  proxy.refuse();
  proxy.cut();
  await release(app, 'job:mine', 'me');
  await acquireLock(app.url, 'job:brief', 'anna');
  await release(app, 'job:brief', 'anna');
  await acquireLock(app.url, 'job:theirs', 'bert');
  proxy.pass();
  await known.becomes({ 'job:theirs': 'bert' });
  expect(known.snapshots).toBe(resumes ? 1 : 2);

  expect(await client.acquire('job:mine', 'me')).toBe('LockAcquired');
  await known.becomes({ 'job:mine': 'me', 'job:theirs': 'bert' });
  for (let n = 0; n < 100; n++) {
    await acquireLock(app.url, `job:${n}`, 'carl');
    if (n % 3 === 0) await release(app, `job:${n}`, 'carl');
    if (n % 10 === 0) proxy.cut();
  }
  await known.becomes(await heldNow(app));
  expect(await app.metric('holdfast_faults_total')).toBe(0);
  for (const complaint of complaints) expect(complaint).not.toHaveBeenCalled();
}
