import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';

/** Those who watch, in a process of their own: what they cost must not look like the server's. They do what they are told by IPC. */
export type ClientCommand =
  | { readonly kind: 'open'; readonly url: string; readonly sockets: number; readonly watches: number; readonly watch: WatchKind }
  /** Stop reading, and read again. */
  | { readonly kind: 'pause' | 'resume' }
  /** Resolves when so many messages have come since they were counted last, or when none came for some seconds. */
  | { readonly kind: 'count'; readonly messages: number };

/** `own`: each the one resource `own:` and its number; `all`: each everything. */
type WatchKind = 'own' | 'all';

export interface Counts {
  readonly messages: number;
  readonly bytes: number;
  /** Of the messages that were parsed, from the moment that their owner names, in milliseconds. */
  readonly delays: readonly number[];
  /** From the moment of the first parsed message's change to the last message. */
  readonly durationMs: number;
  /** Messages of `all` that did not bear the revision after that of the message before. */
  readonly outOfOrder: number;
}

const QUERY = `subscription($filter:LockWatchFilter){lockChanges(filter:$filter,snapshot:false){...on LockEvent{revision type resource owner fencingToken expiresAt}}}`;
const SOCKETS_AT_ONCE = 50;
/** One message in so many is parsed. */
const PARSED = 100;
const GIVE_UP_MS = 5_000;
const NS_PER_MS = 1e6;

/** The owner of a change tells when it was asked for, by the clock that all processes of a machine share. */
export const nowMs = () => Number(process.hrtime.bigint()) / NS_PER_MS;

const sockets: WebSocket[] = [];
let counts = { messages: 0, bytes: 0, delays: [] as number[], firstAt: Infinity, lastAt: 0, outOfOrder: 0 };
let isSparse = false;

async function open({ url, sockets: count, watches, watch }: ClientCommand & { kind: 'open' }): Promise<void> {
  isSparse = watch === 'own';
  const first = sockets.length;
  for (let n = 0; n < count; n += SOCKETS_AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(SOCKETS_AT_ONCE, count - n) }, () => openSocket(url)));
  }
  for (const [n, socket] of sockets.slice(first).entries()) {
    for (let i = 0; i < watches; i++) {
      const filter = watch === 'own' ? { resource: `own:${n * watches + i}` } : { prefix: '' };
      socket.send(JSON.stringify({ id: String(i), type: 'subscribe', payload: { query: QUERY, variables: { filter } } }));
    }
  }
  // Each watch begins with a bookmark.
  await until(() => counts.messages >= count * watches);
}

async function openSocket(url: string): Promise<void> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws', { perMessageDeflate: false });
  await once(socket, 'open');
  socket.send('{"type":"connection_init"}');
  await once(socket, 'message');
  const revisions = new Map<string, number>();
  socket.on('message', (data: Buffer) => receive(data, revisions));
  sockets.push(socket);
}

function receive(data: Buffer, revisions: Map<string, number>): void {
  counts.messages += 1;
  counts.bytes += data.length;
  if (!isSparse && counts.messages % PARSED !== 0) return;
  const { id, payload } = JSON.parse(data.toString()) as { id: string; payload: { data: { lockChanges: EventView } } };
  const { owner, revision } = payload.data.lockChanges;
  if (owner === undefined || revision === undefined) return;
  counts.lastAt = nowMs();
  counts.firstAt = Math.min(counts.firstAt, Number(owner));
  counts.delays.push(counts.lastAt - Number(owner));
  if (Number(revision) <= (revisions.get(id) ?? 0)) counts.outOfOrder += 1;
  revisions.set(id, Number(revision));
}

interface EventView {
  readonly owner?: string;
  readonly revision?: string;
}

async function count(messages: number): Promise<Counts> {
  let before = -1;
  while (counts.messages < messages && before < counts.messages) {
    before = counts.messages;
    const giveUpAt = performance.now() + GIVE_UP_MS;
    await until(() => counts.messages >= messages || performance.now() > giveUpAt);
  }
  const { firstAt, lastAt, ...rest } = counts;
  counts = { messages: 0, bytes: 0, delays: [], firstAt: Infinity, lastAt: 0, outOfOrder: 0 };
  return { ...rest, durationMs: lastAt - firstAt };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(5);
}

async function run(command: ClientCommand): Promise<Counts | null> {
  if (command.kind === 'open') await open(command);
  else if (command.kind === 'count') return count(command.messages);
  else for (const socket of sockets) socket[command.kind]();
  return null;
}

process.on('message', (command: ClientCommand) => {
  void run(command).then((counts) => process.send?.(counts));
});
