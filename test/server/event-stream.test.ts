import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { GraphQLError, type ExecutionResult } from 'graphql';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { StreamPosition } from '../../src/graphql/stream-position.js';
import { sendEvents } from '../../src/server/event-stream.js';
import { PeerWatch } from '../../src/server/peer-watch.js';
import { connectionKey } from '../../src/server/tcp-table.js';
import { startTestApp } from '../support/app.js';
import { readEvents, type EventSourceOptions, type ServerSentEvent } from '../support/event-source.js';
import { stillReferredTo } from '../support/heap.js';
import { acquireLock, post } from '../support/http-client.js';
import { shared } from '../support/shared.js';
import { runSql } from '../support/sql.js';

const WATCH = `subscription ($after: BigInt, $logId: ID, $snapshot: Boolean) {
  lockChanges(after: $after, logId: $logId, snapshot: $snapshot) {
    __typename ... on LockSnapshot { reason part complete revision } ... on LockEvent { revision } ... on LockBookmark { revision } } }`;

async function take(events: AsyncGenerator<ServerSentEvent>, count: number): Promise<ServerSentEvent[]> {
  const taken: ServerSentEvent[] = [];
  while (taken.length < count) {
    const { done, value } = await events.next();
    if (done === true) throw new Error(`The stream ended after ${taken.length} events`);
    taken.push(value);
  }
  await events.return(undefined);
  return taken;
}

const changeOf = ({ data }: ServerSentEvent) => JSON.parse(data).data.lockChanges as Record<string, any>;

/** A service with so many acquisitions, and a way to read so many events of a watch: what they are, and their ids. */
async function startWith(acquisitions: number) {
  const app = await startTestApp();
  for (let n = 1; n <= acquisitions; n++) await acquireLock(app.url, `job:${n}`, 'A');
  const read = async (count: number, options: EventSourceOptions = {}) =>
    (await take(readEvents(app.url, WATCH, options), count)).map((event) => {
      const { __typename, reason } = changeOf(event);
      return `${reason ?? __typename} ${event.lastEventId}`;
    });
  return { ...app, read };
}

/** For what only reads. */
const appOfFour = shared(() => startWith(4));

describe.each(['GET', 'POST'] as const)('a watch by server-sent events, by %s', (method) => {
  test('has the revision that an event brings its reader to as its id', async () => {
    const { url } = await startWith(1);
    const events = readEvents(url, WATCH, { method });
    const snapshot = await events.next();
    await acquireLock(url, 'job:2', 'A');
    const [acquired] = await take(events, 1);
    expect(snapshot.value).toMatchObject({ event: 'next', lastEventId: '1' });
    expect(acquired).toMatchObject({ event: 'next', lastEventId: '2' });
    expect(changeOf(acquired!)).toMatchObject({ __typename: 'LockEvent', revision: '2' });
  });

  test('begins with a bookmark, with its id, where no snapshot is wanted', async () => {
    const { read } = await appOfFour();
    expect(await read(1, { method, variables: { snapshot: false } })).toEqual(['LockBookmark 4']);
  });

  test('resumes after the Last-Event-ID', async () => {
    const { read } = await appOfFour();
    expect(await read(2, { method, lastEventId: '2' })).toEqual(['LockEvent 3', 'LockEvent 4']);
  });

  test('takes the Last-Event-ID for newer than after and logId', async () => {
    const { read } = await appOfFour();
    const variables = { after: '0', logId: 'of another history', snapshot: false };
    expect(await read(1, { method, variables })).toEqual(['RESET 4']);
    expect(await read(2, { method, variables, lastEventId: '2' })).toEqual(['LockEvent 3', 'LockEvent 4']);
  });

  test('says with a snapshot where the Last-Event-ID can not be resumed from', async () => {
    const { read, databaseUrl } = await startWith(3);
    expect(await read(1, { method, lastEventId: '1000' })).toEqual(['RESET 3']);
    await runSql(databaseUrl, 'UPDATE lock_clock SET oldest_revision = 2');
    expect(await read(1, { method, lastEventId: '1' })).toEqual(['GAP 3']);
    expect(await read(1, { method, lastEventId: '2' })).toEqual(['LockEvent 3']);
  });

  test.each(['x', '-1', '9223372036854775808', '1.5'])('refuses the Last-Event-ID %s', async (lastEventId) => {
    const [event] = await take(readEvents((await appOfFour()).url, WATCH, { method, lastEventId }), 1);
    const [error] = JSON.parse(event!.data).errors;
    expect(error.extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'Last-Event-ID' });
    expect(error.message).toContain('must be a revision');
  });

  test('takes an empty Last-Event-ID for none', async () => {
    const { read } = await appOfFour();
    expect(await read(1, { method, lastEventId: '' })).toEqual(['STARTED 4']);
  });
});

test('the parts of a snapshot before the last one have no id: nothing could be resumed from there', async () => {
  const { url } = await startTestApp();
  const acquire = (n: number) => `l${n}: acquireLock(input: { resource: "job:${n}", owner: "A" }) { __typename }`;
  for (let from = 0; from < 550; from += 50) {
    await post(url, `mutation { ${Array.from({ length: 50 }, (_, n) => acquire(from + n)).join(' ')} }`);
  }
  const [first, last] = await take(readEvents(url, WATCH), 2);
  expect(changeOf(first!)).toMatchObject({ part: 1, complete: false });
  expect(first!.lastEventId).toBe('');
  expect(changeOf(last!)).toMatchObject({ part: 2, complete: true });
  expect(last!.lastEventId).toBe('550');
});

/** What is sent of results with these errors, which bring the peer to the revisions 1, 2 and so on; and whether they were ended. */
async function sendResults(
  errorsOf: readonly (readonly GraphQLError[] | undefined)[],
  onText: (text: string) => void = () => undefined,
) {
  const position: StreamPosition = { lastEventId: null, revision: null };
  let told = 0;
  const end = vi.fn(() => Promise.resolve({ done: true as const, value: undefined }));
  const next = () => {
    const errors = errorsOf[told];
    position.revision = BigInt(++told);
    if (told > errorsOf.length) return end();
    const value: ExecutionResult = { data: { n: told }, ...(errors === undefined ? {} : { errors }) };
    return Promise.resolve({ done: false as const, value });
  };
  const server = createServer((_request, response) => void sendEvents(response, { next, return: end }, position, new PeerWatch()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { headers: { connection: 'close' } });
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) onText((text += chunk));
  return { text, end };
}

test('the end of the results is told', async () => {
  const { text, end } = await sendResults([undefined, undefined]);
  expect(text).toBe(
    ':\n\nevent: next\nid: 1\ndata: {"data":{"n":1}}\n\nevent: next\nid: 2\ndata: {"data":{"n":2}}\n\nevent: complete\ndata:\n\n',
  );
  expect(end).toHaveBeenCalled();
});

test('a result with errors has no id, and breaks the stream off, so that a peer resumes before it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { text, end } = await sendResults([undefined, [new GraphQLError('failed')], undefined], (received) => {
    if (received.includes('failed')) vi.advanceTimersByTime(1_000);
  });
  expect(text).toBe(
    ':\n\nevent: next\nid: 1\ndata: {"data":{"n":1}}\n\nevent: next\ndata: {"data":{"n":2},"errors":[{"message":"failed"}]}\n\n',
  );
  expect(end).toHaveBeenCalled();
});

describe('a peer of a stream', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Results of 100 kB each without end, to a peer that reads when it is told. */
  async function startStream(count = Infinity) {
    let asked = 0;
    let hasEnded = false;
    const told: WeakRef<ExecutionResult>[] = [];
    const makeResult = () => {
      const result = { data: { text: 'x'.repeat(100_000) } };
      told.push(new WeakRef(result));
      return result;
    };
    let endWait: () => void = () => undefined;
    const results = (): AsyncIterator<ExecutionResult, void> => ({
      next: () => {
        asked += 1;
        if (asked <= count) return Promise.resolve({ done: false, value: makeResult() });
        return new Promise((resolve) => {
          endWait = () => resolve({ done: true, value: undefined });
        });
      },
      return: () => {
        hasEnded = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    });
    const server = createServer((_request, response) => {
      responses.push(response);
      response.once('close', () => endWait());
      sending.push(sendEvents(response, results(), { lastEventId: null, revision: null }, peers));
    });
    /** Of the connection of the stream, as the system would tell it. */
    const unacknowledged = { value: 0 };
    const table = () => Promise.resolve(new Map(responses.map(({ socket }) => [connectionKey(socket!), unacknowledged.value])));
    const peers = new PeerWatch(table);
    const responses: ServerResponse[] = [];
    const sending: Promise<void>[] = [];
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const peer: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    onTestFinished(async () => {
      peer.destroy();
      await Promise.all(sending);
      server.close();
    });
    peer.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    /** Resolves when nothing more is asked for: all there is room for is under way. */
    const blocked = async () => {
      for (let before = -1; asked !== before || asked === 0;) {
        before = asked;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    return { peer, responses, sending, blocked, told, unacknowledged, asked: () => asked, hasEnded: () => hasEnded };
  }

  const fakeTime = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });

  test('that reads nothing for 60 s is cut off, and is kept no more than one result in memory meanwhile', async () => {
    fakeTime();
    const { responses, sending, blocked, hasEnded } = await startStream();
    await blocked();
    expect(responses[0]?.writableLength).toBeLessThan(200_000);
    await vi.advanceTimersByTimeAsync(44_000);
    expect(responses[0]?.destroyed).toBe(false);
    await vi.advanceTimersByTimeAsync(16_000);
    await Promise.all(sending);
    expect(responses[0]?.destroyed).toBe(true);
    expect(hasEnded()).toBe(true);
  });

  test('that reads a little now and then is kept', async () => {
    fakeTime();
    const { peer, responses, blocked, asked } = await startStream();
    let read = 0;
    for (let minute = 0; minute < 3; minute++) {
      await blocked();
      const before = asked();
      await vi.advanceTimersByTimeAsync(45_000);
      peer.on('data', (chunk: Buffer) => (read += chunk.length));
      peer.resume();
      await expect.poll(asked).toBeGreaterThan(before);
      peer.pause();
    }
    expect(responses[0]?.destroyed).toBe(false);
    expect(read).toBeGreaterThan(0);
  });

  test('that takes a little of one large result is kept, though nothing of it is done', async () => {
    fakeTime();
    const { responses, blocked, asked, unacknowledged } = await startStream();
    await blocked();
    const before = asked();
    for (let minute = 0; minute < 3; minute++) {
      unacknowledged.value -= 1;
      await vi.advanceTimersByTimeAsync(45_000);
    }
    expect(responses[0]?.destroyed).toBe(false);
    expect(asked()).toBe(before);
  });

  test('that vanished, though the system takes all that is sent to it, is cut off within 60 s', async () => {
    fakeTime();
    const { responses, sending, blocked, hasEnded, unacknowledged } = await startStream(1);
    await blocked();
    await expect.poll(() => responses[0]?.writableLength).toBe(0);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(responses[0]?.destroyed).toBe(false);
    // Comments go on.
    const write = vi.spyOn(responses[0]!, 'write').mockImplementation((text) => {
      unacknowledged.value += String(text).length;
      responses[0]!.socket!.write(String(text));
      return true;
    });
    await vi.advanceTimersByTimeAsync(15_000);
    expect(write).toHaveBeenCalledExactlyOnceWith(':\n\n');
    await vi.advanceTimersByTimeAsync(45_000);
    await Promise.all(sending);
    expect(responses[0]?.destroyed).toBe(true);
    expect(hasEnded()).toBe(true);
  });

  test('that goes away ends the results at once', async () => {
    const { peer, sending, blocked, hasEnded } = await startStream();
    await blocked();
    peer.destroy();
    await Promise.all(sending);
    expect(hasEnded()).toBe(true);
  });

  test.each([
    ['that has not taken the last result', Infinity],
    ['for which there is no other result yet', 2],
  ])('%s is kept none of the results', async (_, count) => {
    const { blocked, told, responses } = await startStream(count);
    await blocked();
    expect(told.length).toBeGreaterThan(1);
    expect(stillReferredTo(told)).toEqual([]);
    expect(responses[0]?.destroyed).toBe(false);
  });
});
