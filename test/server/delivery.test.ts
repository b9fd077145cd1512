import type { ExecutionResult } from 'graphql';
import { expect, test, vi } from 'vitest';
import { Delivery } from '../../src/server/delivery.js';
import type { ResultStream } from '../../src/server/results.js';
import type { Socket } from '../../src/server/socket.js';

type Next = IteratorResult<ExecutionResult, void>;

/** A delivery of a stream whose results the test gives out one by one. */
function fixture() {
  const given: ((next: Next) => void)[] = [];
  const next = vi.fn(() => new Promise<Next>((resolve) => given.push(resolve)));
  const end = vi.fn(() => Promise.resolve({ done: true as const, value: undefined }));
  const send = vi.fn();
  const streams = new Set<ResultStream>();
  const socket = { room: () => null, send } as unknown as Socket;
  const delivery = new Delivery({ next, return: end } as unknown as ResultStream, '1', { socket, streams });
  const give = (n: number) => given.shift()?.({ done: false, value: { data: { n } } });
  return { delivery, give, send, end, streams };
}

test('results are sent under the id of their operation as they come', async () => {
  const { delivery, give, send } = fixture();
  void delivery.next();
  give(1);
  await vi.waitFor(() => expect(send).toHaveBeenCalledWith('{"id":"1","type":"next","payload":{"data":{"n":1}}}'));
});

test('a result that was under way when the operation was completed is not sent any more', async () => {
  const { delivery, give, send, end, streams } = fixture();
  const over = delivery.next();
  await delivery.return();
  give(1);
  expect(await over).toEqual({ done: true, value: undefined });
  expect(send).not.toHaveBeenCalled();
  expect(end).toHaveBeenCalledOnce();
  expect(streams.size).toBe(0);
});
