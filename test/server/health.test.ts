import { describe, expect, test, vi } from 'vitest';
import { Health } from '../../src/server/health.js';
import { startTestApp } from '../support/app.js';

describe('the health of a server', () => {
  test('with a database that answers is live and ready', async () => {
    const { origin } = await startTestApp();
    expect((await fetch(`${origin}/health/live`)).status).toBe(200);
    const ready = await fetch(`${origin}/health/ready`);
    expect([ready.status, await ready.text()]).toEqual([200, 'ready\n']);
  });

  test('takes no POST', async () => {
    const { origin } = await startTestApp();
    expect((await fetch(`${origin}/health/ready`, { method: 'POST' })).status).toBe(405);
  });

  test('tells its metrics as text', async () => {
    const { origin } = await startTestApp();
    const response = await fetch(`${origin}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toMatch(/^holdfast_locks_held 0$/m);
  });
});

describe('readiness', () => {
  test('of a database that refuses is denied', async () => {
    const health = new Health(() => Promise.reject(new Error('gone')));
    expect(await health.unreadyBecause()).toBe('the database does not answer');
  });

  test('of a probe that throws is denied', async () => {
    const health = new Health(() => {
      throw new Error('closed');
    });
    expect(await health.unreadyBecause()).toBe('the database does not answer');
  });

  test('of a server that shuts down is denied, whatever the database says', async () => {
    const health = new Health(() => Promise.resolve());
    expect(await health.unreadyBecause()).toBeNull();
    health.shutDown();
    expect(await health.unreadyBecause()).toBe('shutting down');
  });

  test('of a server that shuts down is denied without a word to the database', async () => {
    const probe = vi.fn(() => new Promise(() => undefined));
    const health = new Health(probe);
    health.shutDown();
    expect(await health.unreadyBecause()).toBe('shutting down');
    expect(probe).not.toHaveBeenCalled();
  });

  test('that is asked for often asks the database once', async () => {
    const probe = vi.fn(() => Promise.resolve());
    const health = new Health(probe);
    await Promise.all(Array.from({ length: 100 }, () => health.unreadyBecause()));
    expect(probe).toHaveBeenCalledTimes(1);
  });

  test('of a database that is silent is denied in time, and comes back with it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      let answers = false;
      const health = new Health(() => (answers ? Promise.resolve() : new Promise(() => undefined)));
      const denied = health.unreadyBecause();
      await vi.advanceTimersByTimeAsync(2_000);
      expect(await denied).toBe('the database does not answer');
      answers = true;
      await vi.advanceTimersByTimeAsync(501);
      expect(await health.unreadyBecause()).toBeNull();
    } finally {
      vi.useRealTimers();
    }
  });
});
