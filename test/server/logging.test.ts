import { describe, expect, test } from 'vitest';
import { createLogger, lossyLines } from '../../src/observability/logger.js';

/** A pipe with room for so many bytes, which somebody else may read from. */
function pipe(roomBytes: number) {
  let room = roomBytes;
  let text = '';
  const write = (bytes: Buffer): number => {
    if (room === 0) throw Object.assign(new Error('the pipe is full'), { code: 'EAGAIN' });
    const taken = Math.min(room, bytes.length);
    room -= taken;
    text += bytes.toString('utf8', 0, taken);
    return taken;
  };
  const drain = (bytes: number) => void (room = bytes);
  return { write, drain, text: () => text };
}

describe('a log whose reader is slow', () => {
  test('loses whole lines, and completes the one it has begun', () => {
    const { write, drain, text } = pipe(6);
    const lines = lossyLines(write);
    for (const line of ['one\n', 'two\n', 'three\n']) lines.write(line);
    expect(text()).toBe('one\ntw');
    drain(100);
    lines.write('four\n');
    expect(text()).toBe('one\ntwo\nfour\n');
  });

  test('lets the program go on where nothing can be written at all', () => {
    const logger = createLogger('info', lossyLines(pipe(0).write));
    expect(() => logger.fatal('lost')).not.toThrow();
  });
});
