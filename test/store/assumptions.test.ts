import { expect, test } from 'vitest';
import { Assumptions } from '../../src/store/postgresql/assumptions.js';
import { acquire } from '../support/commands.js';

/** Of an instance that has just seen the database. */
function fresh(): Assumptions {
  const assumptions = new Assumptions();
  assumptions.learn({ logId: 'log', revision: 1n, at: 1 }, new Map());
  const now = performance.now();
  assumptions.compareClock({ readAt: 1, askedAt: now, answeredAt: now });
  return assumptions;
}

test('what becomes of a name that somebody waits for is not assumed, and of others it is', () => {
  const assumptions = fresh();
  assumptions.learnLine('waited-for', true);
  expect(assumptions.for([acquire('free', 'A'), acquire('waited-for', 'A')])).toBeNull();
  expect(assumptions.for([acquire('free', 'A')])).toMatchObject({ logId: 'log', revision: 1n });
});

test('when nobody waits for it any more, it is assumed again', () => {
  const assumptions = fresh();
  assumptions.learnLine('waited-for', true);
  assumptions.learnLine('waited-for', false);
  expect(assumptions.for([acquire('waited-for', 'A')])).not.toBeNull();
});
