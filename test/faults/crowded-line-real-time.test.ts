import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { timeLimit } from '../support/rounds.js';
import { WebSocketClient, type Message } from '../support/websocket-client.js';
import { httpApi, type LockApi } from './lock-api.js';

const WAITERS = 500;
const RESOURCE = 'r';
/** Enough for all of them to come. */
const SHORT_WAIT_MS = 6_000;
const LONG_WAIT_MS = 60_000;

/** What becomes of each of them, in turn. */
const FATES = ['killed', 'cancels', 'times out', 'stays', 'stays'] as const;

const ACQUIRE = `mutation ($input: AcquireLockInput!) { answer: acquireLock(input: $input) {
  __typename ... on LockAcquired { lock { owner fencingToken } } ... on Conflict { reason } } }`;
const RELEASE = 'mutation ($input: ReleaseLockInput!) { releaseLock(input: $input) { __typename } }';

interface Answered {
  readonly data: {
    readonly answer: { readonly lock?: { readonly owner: string; readonly fencingToken: string }; readonly reason?: string };
  };
}

const waiters = Array.from({ length: WAITERS }, (_, number) => ({
  owner: `owner:${number}`,
  fate: FATES[number % FATES.length] as (typeof FATES)[number],
}));

const ownersWho = (fate: string) => waiters.filter((waiter) => waiter.fate === fate).map(({ owner }) => owner);

async function queueLength(api: LockApi): Promise<number | undefined> {
  const query = 'query ($resource: String!) { lock(resource: $resource) { queueLength } }';
  return (await api.query<{ lock: { queueLength: number } | null }>(query, { resource: RESOURCE })).lock?.queueLength;
}

/** Stands in line, over a socket that keeps the order of what it is sent. */
function wait(client: WebSocketClient, owner: string, waitMs: number): void {
  client.subscribe(owner, ACQUIRE, { input: { resource: RESOURCE, owner, ttlMs: 60_000, waitMs } });
}

/** Keeps who was granted the lock and who waited in vain; whoever has it lets go of it at once. */
class Line {
  readonly granted: string[] = [];
  readonly timedOut: string[] = [];

  take(client: WebSocketClient, { type, id = '', payload }: Message): void {
    if (type !== 'next' || !id.startsWith('owner:')) return;
    const { answer } = (payload as Answered).data;
    if (answer.reason === 'WAIT_TIMEOUT') this.timedOut.push(id);
    if (answer.lock === undefined) return;
    const { owner, fencingToken } = answer.lock;
    this.granted.push(owner);
    client.subscribe(`release ${owner}`, RELEASE, { input: { resource: RESOURCE, owner, fencingToken } });
  }
}

test(
  'of 500 in line some are cut off, some cancel and some time out; the others get the lock in the order in which they came',
  { timeout: timeLimit(90_000) },
  async () => {
    const { url } = await startTestApp();
    const api = httpApi(url);
    await api.acquire(RESOURCE, 'holder', { ttlMs: 120_000 });
    const patient = await WebSocketClient.open(url);
    const dying = await Promise.all(ownersWho('killed').map(() => WebSocketClient.open(url)));
    for (const [index, { owner, fate }] of waiters.entries()) {
      const client = fate === 'killed' ? dying[index / FATES.length]! : patient;
      wait(client, owner, fate === 'times out' ? SHORT_WAIT_MS : LONG_WAIT_MS);
    }
    const inLine = (length: number) => expect.poll(() => queueLength(api), { timeout: 30_000, interval: 50 }).toBe(length);
    await inLine(WAITERS);

    const line = new Line();
    const listening = (async () => {
      for await (const message of patient) line.take(patient, message);
    })();
    for (const client of dying) client.socket.terminate();
    for (const owner of ownersWho('cancels')) patient.send({ type: 'complete', id: owner });
    await inLine(ownersWho('stays').length);
    await expect.poll(() => line.timedOut, { timeout: 10_000 }).toHaveLength(ownersWho('times out').length);
    await api.release(RESOURCE, 'holder');
    await expect.poll(() => line.granted.length, { timeout: 30_000 }).toBe(ownersWho('stays').length);

    expect(line.granted).toEqual(ownersWho('stays'));
    expect(new Set(line.timedOut)).toEqual(new Set(ownersWho('times out')));
    const acquired = (await api.events()).filter(({ type }) => type === 'ACQUIRED').map(({ owner }) => owner);
    expect(acquired).toEqual(['holder', ...ownersWho('stays')]);
    await api.acquire(RESOURCE, 'last');
    expect(await queueLength(api)).toBe(0);
    patient.socket.close();
    await listening;
  },
);
