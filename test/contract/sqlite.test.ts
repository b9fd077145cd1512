import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { acquired } from './decisions.js';
import { fixtureOn } from './store-fixture.js';
import { describeStore } from './store.js';

const createDatabase = () => Promise.resolve(`file:${join(temporaryDirectory(), 'locks.db')}`);

describe('SQLite', () => {
  describeStore(createDatabase);

  // PostgreSQL's time is that of its machine, and stands still until that has caught up.
  it('time goes on at its own pace although the wall clock was set back, and does so over a restart', async () => {
    const { open, time } = fixtureOn(await createDatabase());
    const store = await open();
    const { acquiredAt } = await acquired(store, 'r', 'a');
    time.jumpTo(acquiredAt - 3_600_000);
    time.advance(5);
    expect(await store.now()).toBe(acquiredAt + 5);
    await acquired(store, 'q', 'a');
    await store.close();
    expect(await (await open()).now()).toBe(acquiredAt + 5);
  });
});
