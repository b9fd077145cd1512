import { createClient } from 'graphql-ws';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { post } from '../support/http-client.js';
import { runSql } from '../support/sql.js';
import { RETRY_MS } from './scenario.js';

const WATCH = `subscription ($after: BigInt, $logId: ID) {
  lockChanges(after: $after, logId: $logId) {
    __typename
    ... on LockSnapshot { logId revision reason complete }
    ... on LockEvent { revision type resource owner }
    ... on LockBookmark { logId revision }
  }
}`;

interface Position {
  readonly after?: string;
  readonly logId?: string;
}

/** A watcher of everything that subscribes by hand, each time from the last revision that it knows. */
export class LogReader {
  /** As `revision type resource owner`. */
  readonly events: string[] = [];
  readonly reasons: string[] = [];
  connections = 0;
  #position: Position = {};
  readonly #closing = new AbortController();
  readonly #reading: Promise<void>;

  /** @param urlOf where to connect for the nth time. */
  constructor(urlOf: (connection: number) => string) {
    this.#reading = this.#read(urlOf);
    onTestFinished(() => this.close());
  }

  /** Resolves when all that happened up to that revision was told. */
  async reaches(revision: string): Promise<void> {
    await expect.poll(() => BigInt(this.#position.after ?? '-1'), { timeout: 15_000 }).toBeGreaterThanOrEqual(BigInt(revision));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading;
  }

  async #read(urlOf: (connection: number) => string): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const url = urlOf(this.connections++).replace(/^http/, 'ws');
      const client = createClient({ url, webSocketImpl: WebSocket, retryAttempts: 0 });
      const end = () => client.terminate();
      signal.addEventListener('abort', end);
      try {
        for await (const { data } of client.iterate<any>({ query: WATCH, variables: { ...this.#position } })) {
          this.#take(data.lockChanges);
        }
      } catch {
        await sleep(RETRY_MS);
      }
      signal.removeEventListener('abort', end);
      await client.dispose();
    }
  }

  #take({ __typename, revision, logId = this.#position.logId, ...change }: Record<string, any>): void {
    if (__typename === 'LockEvent') {
      this.events.push([revision, change['type'], change['resource'], change['owner']].join(' '));
    }
    if (__typename === 'LockSnapshot') this.reasons.push(change['reason']);
    this.#position = change['complete'] === false ? {} : { after: revision, logId };
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

export async function headOf(url: string): Promise<string> {
  return (await post(url, '{ server { revision } }')).data?.['server'].revision;
}
