import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { CLOCK_OFFSETS, type Environment } from './clock-offset.js';

/** In the main thread and in another one: all the ways in which a program asks for the time. */
const TELL_THE_TIME = `
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const now = [Date.now(), new Date().getTime(), Date.parse(Date()), performance.timeOrigin + performance.now()];
if (!isMainThread) parentPort.postMessage(now);
else new Worker(__filename).on('message', (other) => console.log(JSON.stringify([...now, ...other])));
`;

const WAYS = Object.entries(CLOCK_OFFSETS).flatMap(([name, environment]) =>
  [180_000, -180_000].flatMap((offsetMs) => {
    const env = environment(offsetMs);
    return env === null ? [] : [[name, offsetMs, env] as const];
  }),
);

function timesToldUnder(env: Environment): number[] {
  const file = join(temporaryDirectory(), 'tell-the-time.cjs');
  writeFileSync(file, TELL_THE_TIME);
  const output = execFileSync(process.execPath, [file], { env: { PATH: process.env['PATH'], ...env }, encoding: 'utf8' });
  return JSON.parse(output) as number[];
}

test.each(WAYS)('a process with a clock set by %s to be off by %i ms tells that time, whatever it asks', (_name, offsetMs, env) => {
  const times = timesToldUnder(env);
  expect(times).toHaveLength(8);
  for (const time of times) expect(Math.abs(time - (Date.now() + offsetMs))).toBeLessThan(20_000);
});
