import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';

/** What the process of the watchers is told to do, by IPC. It answers each command when it is done. */
export type ClientCommand =
  | { readonly kind: 'open'; readonly url: string; readonly sockets: number; readonly watches: number; readonly of: Watched }
  /** Stop reading, and read again. */
  | { readonly kind: 'pause' | 'resume' }
  /** Begin a watch of this prefix with its snapshot on every socket, all at once, until each is complete. */
  | { readonly kind: 'snapshots'; readonly prefix: string }
  /** Count until so many messages have come since the last count, or none for some seconds. */
  | { readonly kind: 'count'; readonly messages: number };

/** `own`: each the one resource `own:` and its number; `all`: each everything. */
export type Watched = 'own' | 'all';

export interface Counts {
  readonly messages: number;
  readonly bytes: number;
  /** Of the messages that were parsed: how long ago their change had been asked for, in milliseconds. */
  readonly delays: readonly number[];
  /** From the first parsed change to the last message. */
  readonly durationMs: number;
  /** Parsed messages whose revision is not above that of the one before on the same watch. */
  readonly outOfOrder: number;
}

interface EventView {
  readonly owner?: string;
  readonly revision?: string;
}

const QUERY = `subscription($filter:LockWatchFilter){lockChanges(filter:$filter,snapshot:false){...on LockEvent{revision type resource owner fencingToken expiresAt}}}`;
const SNAPSHOT = `subscription($prefix:String){lockChanges(filter:{prefix:$prefix}){...on LockSnapshot{complete revision locks{resource owner fencingToken expiresAt}}}}`;
const SOCKETS_AT_ONCE = 50;
/** Where all watch all, one message in so many is parsed: else the client would be what is measured. */
const PARSED = 100;
const GIVE_UP_MS = 10_000;
const NS_PER_MS = 1e6;

/** By the clock that all processes of a machine share. The owner of a change says when it was asked for. */
export const nowMs = () => Number(process.hrtime.bigint()) / NS_PER_MS;

const sockets: WebSocket[] = [];
let parsed = 1;
let counts = newCounts();

function newCounts() {
  return { messages: 0, bytes: 0, delays: [] as number[], firstAt: Infinity, lastAt: 0, outOfOrder: 0 };
}

async function open({ url, sockets: count, watches, of }: ClientCommand & { kind: 'open' }): Promise<void> {
  parsed = of === 'own' ? 1 : PARSED;
  for (let n = 0; n < count; n += SOCKETS_AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(SOCKETS_AT_ONCE, count - n) }, () => openSocket(url)));
  }
  for (const [n, socket] of sockets.entries()) {
    for (let i = 0; i < watches; i++) {
      const filter = of === 'own' ? { resource: `own:${n * watches + i}` } : { prefix: '' };
      socket.send(JSON.stringify({ id: String(i), type: 'subscribe', payload: { query: QUERY, variables: { filter } } }));
    }
  }
  // Each watch begins with a bookmark.
  await until(() => counts.messages >= count * watches);
}

async function takeSnapshots({ prefix }: ClientCommand & { kind: 'snapshots' }): Promise<void> {
  const complete = sockets.map(
    (socket) =>
      new Promise<void>((resolve) => {
        socket.on('message', (data: Buffer) => data.includes('"complete":true') && resolve());
      }),
  );
  const message = { id: 'snapshot', type: 'subscribe', payload: { query: SNAPSHOT, variables: { prefix } } };
  for (const socket of sockets) socket.send(JSON.stringify(message));
  await Promise.all(complete);
}

async function openSocket(url: string): Promise<void> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws', { perMessageDeflate: false });
  await once(socket, 'open');
  socket.send('{"type":"connection_init"}');
  await once(socket, 'message');
  const revisions = new Map<string, bigint>();
  socket.on('message', (data: Buffer) => {
    counts.messages += 1;
    counts.bytes += data.length;
    if (counts.messages % parsed === 0) parse(data, revisions);
  });
  sockets.push(socket);
}

function parse(data: Buffer, revisions: Map<string, bigint>): void {
  const { id, payload } = JSON.parse(data.toString()) as { id: string; payload: { data: { lockChanges: EventView } } };
  const { owner, revision } = payload.data.lockChanges;
  if (owner === undefined || revision === undefined) return;
  const askedAt = Number(owner);
  counts.lastAt = nowMs();
  counts.firstAt = Math.min(counts.firstAt, askedAt);
  counts.delays.push(counts.lastAt - askedAt);
  if (BigInt(revision) <= (revisions.get(id) ?? 0n)) counts.outOfOrder += 1;
  revisions.set(id, BigInt(revision));
}

async function count(messages: number): Promise<Counts> {
  let before = -1;
  while (counts.messages < messages && before < counts.messages) {
    before = counts.messages;
    const giveUpAt = performance.now() + GIVE_UP_MS;
    await until(() => counts.messages >= messages || performance.now() > giveUpAt);
  }
  const { firstAt, lastAt, ...rest } = counts;
  counts = newCounts();
  return { ...rest, durationMs: lastAt - firstAt };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(5);
}

async function run(command: ClientCommand): Promise<Counts | null> {
  if (command.kind === 'count') return count(command.messages);
  if (command.kind === 'open') await open(command);
  else if (command.kind === 'snapshots') await takeSnapshots(command);
  else for (const socket of sockets) socket[command.kind]();
  return null;
}

process.on('message', (command: ClientCommand) => {
  void run(command).then((answer) => process.send?.(answer));
});
