import { createClient } from 'graphql-ws';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { readEvents } from '../support/event-source.js';
import { post } from '../support/http-client.js';
import { runSql } from '../support/sql.js';
import { RETRY_MS, type Change } from './scenario.js';

const WATCH = `subscription ($after: BigInt, $logId: ID) {
  lockChanges(after: $after, logId: $logId) {
    __typename
    ... on LockSnapshot { logId revision reason complete }
    ... on LockEvent { revision type resource owner }
    ... on LockBookmark { logId revision }
  }
}`;

/** What a reader has to know to go on; it begins with nothing. */
interface Position {
  readonly after?: string;
  readonly logId?: string;
  readonly lastEventId?: string;
}

/** Changes from a position on, each with the position behind it, until the connection breaks. */
type Read = (url: string, position: Position, signal: AbortSignal) => AsyncIterable<readonly [Change, Position]>;

async function* readBySocket(url: string, position: Position, signal: AbortSignal): AsyncGenerator<[Change, Position]> {
  const client = createClient({ url: url.replace(/^http/, 'ws'), webSocketImpl: WebSocket, retryAttempts: 0 });
  const end = () => client.terminate();
  signal.addEventListener('abort', end);
  let { logId } = position;
  try {
    for await (const { data } of client.iterate<any>({ query: WATCH, variables: { ...position } })) {
      const change = data.lockChanges;
      logId = change.logId ?? logId;
      yield [change, change.complete === false ? {} : { after: change.revision, ...(logId === undefined ? {} : { logId }) }];
    }
  } finally {
    signal.removeEventListener('abort', end);
    await client.dispose();
  }
}

async function* readByEvents(url: string, position: Position, signal: AbortSignal): AsyncGenerator<[Change, Position]> {
  for await (const { data, lastEventId } of readEvents(url, WATCH, { ...position, signal })) {
    yield [JSON.parse(data).data.lockChanges, { lastEventId }];
  }
}

export const TRANSPORTS: readonly (readonly [string, Read])[] = [
  ['graphql-ws', readBySocket],
  ['server-sent events', readByEvents],
];

/** A watcher of everything that subscribes by hand, each time from where it was. */
export class LogReader {
  /** As `revision type resource owner`. */
  readonly events: string[] = [];
  readonly reasons: string[] = [];
  connections = 0;
  #revision = -1n;
  readonly #closing = new AbortController();
  readonly #reading: Promise<void>;

  /** @param urlOf where to connect for the nth time. */
  constructor(read: Read, urlOf: (connection: number) => string) {
    this.#reading = this.#read(read, urlOf);
    onTestFinished(() => this.close());
  }

  /** Resolves when all that happened up to that revision was told. */
  async reaches(revision: bigint): Promise<void> {
    await expect.poll(() => this.#revision, { timeout: 15_000 }).toBeGreaterThanOrEqual(revision);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  async #read(read: Read, urlOf: (connection: number) => string): Promise<void> {
    const { signal } = this.#closing;
    let position: Position = {};
    while (!signal.aborted) {
      try {
        for await (const [change, after] of read(urlOf(this.connections++), position, signal)) {
          position = after;
          this.#take(change);
        }
      } catch {
        await sleep(RETRY_MS);
      }
    }
  }

  #take({ __typename, revision, type, resource, owner, reason }: Change): void {
    if (__typename === 'LockEvent') this.events.push([revision, type, resource, owner].join(' '));
    if (__typename === 'LockSnapshot') this.reasons.push(reason);
    this.#revision = BigInt(revision);
  }
}

/** All that the log has, as a reader tells it. */
export async function logOf(databaseUrl: string): Promise<string[]> {
  const rows = await runSql(databaseUrl, 'SELECT revision, type, resource, owner FROM lock_events ORDER BY revision');
  return rows.map(({ revision, type, resource, owner }) => [revision, type, resource, owner].join(' '));
}

const ROUND = `mutation ($resource: String!, $owner: String!) {
  acquireLock(input: { resource: $resource, owner: $owner }) { __typename }
  renewLock(input: { resource: $resource, owner: $owner }) { __typename }
  releaseLock(input: { resource: $resource, owner: $owner }) { __typename }
}`;

/** Makes changes, one round after the other, until told to stop. */
export function changeSteadily(urlOf: (round: number) => string): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const changing = (async () => {
    for (let round = 0; !stopped.signal.aborted; round++) {
      await post(urlOf(round), ROUND, { resource: `job:${round % 7}`, owner: `owner:${round}` });
    }
  })();
  return {
    stop: async () => {
      stopped.abort();
      await changing;
    },
  };
}

export async function headOf(url: string): Promise<bigint> {
  return BigInt((await post(url, '{ server { revision } }')).data?.['server'].revision);
}
