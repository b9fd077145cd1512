import { expect, it } from 'vitest';
import { SharedClock } from '../../../src/store/sqlite/shared-clock.js';
import { timeSourceOf } from '../../../src/store/sqlite/time-cells.js';
import { ManualTime } from '../../support/manual-time.js';

const START = 1_000_000;

function clockAt(): { time: ManualTime; clock: SharedClock } {
  const time = new ManualTime(START);
  return { time, clock: new SharedClock(timeSourceOf(time.cells)) };
}

it('the clock starts with the wall clock and goes with the monotonic one', () => {
  const { time, clock } = clockAt();
  expect(clock.now()).toBe(START);
  time.advance(250);
  expect(clock.now()).toBe(START + 250);
});

it('a wall clock that is set back does not move it', () => {
  const { time, clock } = clockAt();
  time.jumpTo(0);
  time.advance(10);
  expect(clock.now()).toBe(START + 10);
});

it('a wall clock that is ahead by no more than a second does not move it', () => {
  const { time, clock } = clockAt();
  time.jumpTo(START + 1000);
  expect(clock.now()).toBe(START);
});

it('a wall clock that is ahead by more than a second is followed: the machine slept', () => {
  const { time, clock } = clockAt();
  time.jumpTo(START + 60_000);
  expect(clock.now()).toBe(START + 60_000);
  time.jumpTo(START);
  expect(clock.now()).toBe(START + 60_000);
});

it('a moment that the database has seen is never fallen behind, by any thread of the process', () => {
  const { time, clock } = clockAt();
  const other = new SharedClock(timeSourceOf(time.cells), clock.buffer);
  expect(other.nowNotBefore(START + 5000)).toBe(START + 5000);
  expect(clock.now()).toBe(START + 5000);
  expect(clock.nowNotBefore(START)).toBe(START + 5000);
});
