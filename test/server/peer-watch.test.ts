import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PeerWatch } from '../../src/server/peer-watch.js';

const KEY = '80 10.0.0.1 5000';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A connection of which the test says what Node and the system have of it. */
function fixture({ isDoubted = true, pingBytes = 0 } = {}) {
  const connection = { localPort: 80, remoteAddress: '10.0.0.1', remotePort: 5000, bytesWritten: 0, writableLength: 0 };
  const system = { unacknowledged: 0 };
  const readTable = vi.fn(() => Promise.resolve(new Map([[KEY, system.unacknowledged]])));
  const peers = new PeerWatch(readTable);
  const seen: string[] = [];
  const stop = peers.watch(connection, {
    pingBytes,
    isDoubted: () => isDoubted,
    seen: (took, left, leftBefore) => void seen.push(`${took ? 'took' : 'took nothing of'} ${leftBefore}, ${left}`),
  });
  /** What is seen of it next, after what Node and the system are left with. */
  const look = async (bytesWritten: number, writableLength: number, unacknowledged: number) => {
    Object.assign(connection, { bytesWritten, writableLength });
    system.unacknowledged = unacknowledged;
    await vi.advanceTimersByTimeAsync(15_000);
    return seen.pop();
  };
  return { readTable, look, stop };
}

test('a peer whose system acknowledges has taken something, also in the middle of one large write', async () => {
  const { look } = fixture();
  await look(1_000, 0, 1_000);
  expect(await look(1_000, 0, 999)).toBe('took true, true');
  expect(await look(1_000, 0, 0)).toBe('took true, false');
  expect(await look(1_000, 0, 0)).toBe('took nothing of false, false');
});

test('a peer has taken nothing of what is only written, to the system or before it', async () => {
  const { look } = fixture();
  await look(1_000, 0, 1_000);
  expect(await look(1_100, 0, 1_100)).toBe('took nothing of true, true');
  expect(await look(5_000, 3_900, 1_100)).toBe('took nothing of true, true');
  expect(await look(5_000, 3_900, 1_000)).toBe('took true, true');
});

test('a peer that makes room for more of one large write has taken something', async () => {
  const { look } = fixture();
  await look(5_000, 5_000, 2_000);
  expect(await look(5_000, 5_000, 1_500)).toBe('took true, true');
  // The system has as much as before: it was given more.
  expect(await look(5_000, 5_000, 2_000)).toBe('took true, true');
  expect(await look(5_000, 5_000, 2_000)).toBe('took nothing of true, true');
});

test('a ping that the system is yet to acknowledge is nothing that had to wait', async () => {
  const { look } = fixture({ pingBytes: 2 });
  await look(1_002, 0, 2);
  expect(await look(1_004, 0, 2)).toBe('took false, false');
});

test('without a table, what went to the system counts as taken', async () => {
  const { look } = fixture();
  expect(await look(1_000, 1_000, 0)).toBe('took nothing of false, true');
  expect(await look(1_000, 1_000, 0)).toBe('took nothing of true, true');
  expect(await look(1_000, 0, 0)).toBe('took true, false');
});

test('the system is asked only while a peer is doubted, and never after its watch has ended', async () => {
  const trusted = fixture({ isDoubted: false });
  expect(await trusted.look(1_000, 0, 0)).toBeUndefined();
  expect(trusted.readTable).not.toHaveBeenCalled();
  const { look, readTable, stop } = fixture();
  await look(1_000, 0, 0);
  stop();
  expect(await look(2_000, 0, 0)).toBeUndefined();
  expect(readTable).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(1);
});
