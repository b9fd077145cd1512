import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { acquireLock } from '../support/http-client.js';
import { WebSocketClient } from '../support/websocket-client.js';

describe('an id that was completed', () => {
  const SNAPSHOT = `subscription ($prefix: String) { lockChanges(filter: { prefix: $prefix }) {
    __typename ... on LockSnapshot { part complete locks { resource } } ... on LockEvent { resource } } }`;

  const ACQUIRE_ALL = `mutation ($resources: [String!]!) {
    acquireLocks(input: { resources: $resources, owner: "A" }) { __typename } }`;

  /** What is told under the id until a lock of that name is. */
  async function toldUntil(client: WebSocketClient, resource: string): Promise<any[]> {
    const told: any[] = [];
    do {
      const { type, id, payload } = await client.next();
      expect({ type, id }).toEqual({ type: 'next', id: 'w' });
      told.push(payload.data.lockChanges);
    } while (told.at(-1).resource !== resource);
    return told;
  }

  async function startWith(locks: number) {
    const { url } = await startTestApp();
    const client = await WebSocketClient.open(url);
    for (const prefix of ['a', 'b']) {
      const resources = Array.from({ length: locks }, (_, n) => `${prefix}:${n}`);
      const { data } = await client.run(ACQUIRE_ALL, { resources });
      expect(data.acquireLocks).toEqual({ __typename: 'LocksAcquired' });
    }
    return { url, client };
  }

  test.each([
    ['before its operation was set up', 0],
    ['in the middle of its snapshot', 1],
    ['when its snapshot is complete', 2],
  ])('%s may be used again at once, and tells nothing but what the new operation asked for', async (_, messages) => {
    const { url, client } = await startWith(600);
    client.subscribe('w', SNAPSHOT, { prefix: 'a' });
    for (let n = 0; n < messages; n++) await client.expect('next');
    client.send({ type: 'complete', id: 'w' });
    client.subscribe('w', SNAPSHOT, { prefix: 'b' });
    // What was under way when it was completed may still come: nothing of it comes behind the first of the new one.
    let first;
    do first = (await client.expect('next')).payload.data.lockChanges;
    while (first.locks?.[0]?.resource.startsWith('a'));
    expect(first).toMatchObject({ part: 1, complete: false });
    await acquireLock(url, 'a:last', 'A');
    await acquireLock(url, 'b:last', 'A');
    const told = await toldUntil(client, 'b:last');
    expect(told.map((change) => change.locks?.length ?? change.resource)).toEqual([100, 'b:last']);
  });

  test('in the middle of the events of a resumed watch tells nothing of that watch any more', async () => {
    const { url, client } = await startWith(300);
    const resumed = SNAPSHOT.replace('$prefix: String', '$prefix: String, $after: BigInt').replace('}) {', '}, after: $after) {');
    client.subscribe('w', resumed, { prefix: 'a', after: '0' });
    await client.expect('next');
    client.send({ type: 'complete', id: 'w' });
    client.subscribe('w', resumed, { prefix: 'b', after: '0' });
    await acquireLock(url, 'a:last', 'A');
    await acquireLock(url, 'b:last', 'A');
    const told = (await toldUntil(client, 'b:last')).map(({ resource }) => resource);
    const ofNew = told.slice(told.indexOf('b:0'));
    expect(ofNew.filter((resource) => !resource.startsWith('b'))).toEqual([]);
    expect(ofNew).toHaveLength(301);
  });

  test('and is used again many times over leaves nothing behind but the last one', async () => {
    const { url, client } = await startWith(1);
    for (let n = 0; n < 20; n++) {
      client.subscribe('w', SNAPSHOT, { prefix: 'a' });
      client.send({ type: 'complete', id: 'w' });
    }
    client.subscribe('w', SNAPSHOT, { prefix: 'b' });
    let told;
    do told = (await client.expect('next')).payload.data.lockChanges;
    while (told.locks?.[0]?.resource !== 'b:0');
    await acquireLock(url, 'b:last', 'A');
    expect(await toldUntil(client, 'b:last')).toEqual([{ __typename: 'LockEvent', resource: 'b:last' }]);
    client.subscribe('w', SNAPSHOT, { prefix: 'b' });
    expect(await client.closed).toMatchObject({ code: 4409 });
  });

  test('of a query is free for a watch at once', async () => {
    const { url, client } = await startWith(1);
    client.subscribe('w', '{ server { version } locks(first: 500) { edges { node { resource } } } }');
    client.send({ type: 'complete', id: 'w' });
    client.subscribe('w', SNAPSHOT, { prefix: 'b' });
    expect((await client.expect('next')).payload.data.lockChanges).toMatchObject({ complete: true, locks: [{ resource: 'b:0' }] });
    await acquireLock(url, 'b:last', 'A');
    expect(await toldUntil(client, 'b:last')).toEqual([{ __typename: 'LockEvent', resource: 'b:last' }]);
  });
});
