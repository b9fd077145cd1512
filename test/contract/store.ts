import { describe } from 'vitest';
import { describeDecisions } from './decisions.js';
import { describeReads } from './reads.js';
import { fixtureOn } from './store-fixture.js';
import { describeTimeAndRetention } from './time-and-retention.js';
import { describeWaiting } from './waiting.js';
import { describeWaitingTogether } from './waiting-together.js';

/** What every store has to do, whatever its database. */
export function describeStore(createDatabase: () => Promise<string>): void {
  const openFixture = async () => fixtureOn(await createDatabase());
  describe('decides', () => {
    describeDecisions(openFixture);
  });
  describe('reads', () => {
    describeReads(openFixture);
  });
  describe('keeps time and prunes', () => {
    describeTimeAndRetention(openFixture);
  });
  describe('keeps lines', () => {
    describeWaiting(openFixture);
    describeWaitingTogether(openFixture);
  });
}
