import { describe, expect, test } from 'vitest';
import { lockEvent, remembering } from '../support/lock-values.js';

describe('the memory of acquires', () => {
  const memory = remembering(lockEvent({ requestId: 'r1' }));
  const request = { resource: 'job:1', owner: 'anna', requestId: 'r1' };

  test('knows the request that it learned', () => {
    expect(memory.hasAcquired(request)).toBe(true);
  });

  test.each([{ resource: 'job:2' }, { owner: 'ben' }, { requestId: 'r2' }])('does not know it with %o', (changes) => {
    expect(memory.hasAcquired({ ...request, ...changes })).toBe(false);
  });

  test('keeps names apart whose parts would read alike when joined', () => {
    const quoting = remembering(lockEvent({ resource: 'a","b', owner: 'c', requestId: 'd' }));
    expect(quoting.hasAcquired({ resource: 'a', owner: 'b","c', requestId: 'd' })).toBe(false);
    expect(quoting.hasAcquired({ resource: 'a","b', owner: 'c', requestId: 'd' })).toBe(true);
  });

  test.each(['RENEWED', 'RELEASED', 'EXPIRED'] as const)('learns no request from %s', (type) => {
    expect(remembering(lockEvent({ type, requestId: 'r1' })).hasAcquired(request)).toBe(false);
  });

  test('still knows the request after its lock was released', () => {
    const released = remembering(lockEvent({ requestId: 'r1' }), lockEvent({ type: 'RELEASED', revision: 8n, requestId: 'r1' }));
    expect(released.hasAcquired(request)).toBe(true);
  });
});

describe('the memory of releases', () => {
  const memory = remembering(lockEvent({ type: 'RELEASED', revision: 20n, at: 5_000 }));

  test('knows when and at which revision a token was released', () => {
    expect(memory.releaseOf('job:1', 'anna', 7n)).toEqual({
      resource: 'job:1',
      owner: 'anna',
      fencingToken: 7n,
      releasedAt: 5_000,
      revision: 20n,
    });
  });

  test('does not know it under another resource, owner or token', () => {
    expect(memory.releaseOf('job:2', 'anna', 7n)).toBeNull();
    expect(memory.releaseOf('job:1', 'ben', 7n)).toBeNull();
    expect(memory.releaseOf('job:1', 'anna', 20n)).toBeNull();
  });

  test.each(['ACQUIRED', 'RENEWED', 'EXPIRED'] as const)('learns no release from %s', (type) => {
    expect(remembering(lockEvent({ type })).releaseOf('job:1', 'anna', 7n)).toBeNull();
  });
});
