import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';

import type { Command } from '../../locks/commands.js';
import { StoreUnavailable, type RetentionPolicy } from '../lock-store.js';
import { pack, type GroupMessage } from './group-message.js';
import { commitGroup } from './group-transaction.js';
import { pruneStep } from './prune.js';
import { SharedClock } from './shared-clock.js';
import { timeSourceOf, type TimeCells } from './time-cells.js';
import { WriteConnection } from './write-connection.js';

export interface WriterThreadData {
  readonly file: string;
  readonly clock: SharedArrayBuffer;
  readonly time: TimeCells | null;
  readonly retryWindowMs: number;
}

export type WriterRequest =
  | { readonly kind: 'open' }
  | { readonly kind: 'commit'; readonly commands: readonly Command[] }
  | { readonly kind: 'keep-alive'; readonly instance: string; readonly until: number }
  | { readonly kind: 'prune'; readonly policy: RetentionPolicy }
  | { readonly kind: 'close' };

export interface WriterAnswers {
  open: null;
  commit: GroupMessage;
  'keep-alive': null;
  prune: boolean;
  close: null;
}

/** Answers come in the order of the requests. An error loses its class on the way: `unavailable` keeps what matters of it. */
export type WriterReply =
  | { readonly ok: true; readonly value: WriterAnswers[keyof WriterAnswers] }
  | { readonly ok: false; readonly error: Error; readonly unavailable: { readonly applied: false | null } | null };

/** Falling asleep and being woken takes longer than this on many machines, about as long as the disk takes for a group. */
const AWAKE_MS = 0.1;

const port = threadPort();

const { file, clock: clockBuffer, time, retryWindowMs } = workerData as WriterThreadData;
const clock = new SharedClock(timeSourceOf(time), clockBuffer);
const connection = new WriteConnection(file);

function threadPort(): MessagePort {
  if (parentPort === null) throw new Error('The writer runs in a thread of its own');
  return parentPort;
}

function answer(request: WriterRequest): WriterAnswers[keyof WriterAnswers] {
  switch (request.kind) {
    case 'open':
      connection.open();
      return null;
    case 'commit':
      return pack(commitGroup(connection, clock, retryWindowMs, request.commands));
    case 'keep-alive':
      connection.transaction(
        ({ lines }) => lines.keepAlive(request.instance, request.until),
        () => true,
      );
      return null;
    case 'prune':
      connection.fitWal();
      return pruneStep(connection, clock, retryWindowMs, request.policy);
    case 'close':
      connection.close();
      return null;
  }
}

port.on('message', (request: WriterRequest) => {
  reply(request);
  // The next group often comes as soon as the answers to this one are out.
  for (let until = performance.now() + AWAKE_MS; performance.now() < until;) {
    const next: { message: WriterRequest } | undefined = receiveMessageOnPort(port);
    if (next === undefined) continue;
    reply(next.message);
    until = performance.now() + AWAKE_MS;
  }
});

function reply(request: WriterRequest): void {
  port.postMessage(replyTo(request));
  if (request.kind === 'close') port.close();
}

function replyTo(request: WriterRequest): WriterReply {
  try {
    return { ok: true, value: answer(request) };
  } catch (error) {
    const unavailable = error instanceof StoreUnavailable ? { applied: error.applied } : null;
    return { ok: false, error: portable(error), unavailable };
  }
}

/** The driver's errors come out empty at the other end; plain ones arrive with message, stack and cause. */
function portable(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { message, stack, cause, code } = error as Error & { code?: unknown };
  const copy = new Error(typeof code === 'string' ? `${message} (${code})` : message);
  if (stack !== undefined) copy.stack = stack;
  if (cause !== undefined) copy.cause = portable(cause);
  return copy;
}
