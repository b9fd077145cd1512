import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { Session } from './session.js';
import type { SnapshotItem } from './watch.js';

const NAMES = ['a_b/1', 'aXb/1', '100%/x', '100a/x', 'c\\d/1', 'cXd/1', '%', '_'];

const resources = (views: readonly { readonly resource: string }[]) => views.map(({ resource }) => resource).sort();

test.each([
  ['a_b/', ['a_b/1']],
  ['100%', ['100%/x']],
  ['%', ['%']],
  ['_', ['_']],
  ['c\\', ['c\\d/1']],
  ['c\\d', ['c\\d/1']],
  ['?', []],
  ['*', []],
  ['', NAMES],
])(
  'the prefix %j admits the names that begin with it, in lists, history, live and replayed events alike',
  async (prefix, names) => {
    const session = await Session.open((await startTestApp()).url);
    const { api } = session;
    const filter = { prefix };
    const live = await session.watch({ filter });
    for (const name of NAMES) await api.acquire(name, 'A');
    // A change that every watch is told, after all the others.
    const end = `${prefix}z`;
    await api.acquire(end, 'A');
    const admitted = [...names, end].sort();

    const replayed = await session.watch({ filter, after: '0' });
    const snapshot = (await session.watch({ filter })).items[0] as SnapshotItem;
    for (const watch of [live, replayed]) {
      await watch.until(() => watch.events.some(({ resource }) => resource === end));
      expect(resources(watch.events)).toEqual(admitted);
    }
    expect(resources(snapshot.locks)).toEqual(admitted);
    expect(resources(await api.locks(filter))).toEqual(admitted);
    expect(resources(await api.events(filter))).toEqual(admitted);
  },
);
