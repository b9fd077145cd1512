import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toEnvironment } from './chaos-settings.js';
import { freshSeed } from './random.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** `npm test` runs the same test for a short time. */
const TEST = 'test/cluster/chaos-real-time.test.ts';
const DATABASES = ['postgresql', 'sqlite'] as const;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(freshSeed()) },
    seconds: { type: 'string', default: '300' },
    database: { type: 'string', default: DATABASES[0] },
  },
});
const settings = {
  seed: wholeNumber('seed', values.seed),
  seconds: wholeNumber('seconds', values.seconds),
  database: databaseNamed(values.database),
};
const { seed, seconds, database } = settings;
console.log(`Again: npm run chaos -- --database ${database} --seconds ${seconds} --seed ${seed}`);

const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', TEST],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...toEnvironment(settings) },
  },
);
process.exitCode = status ?? 1;

function wholeNumber(name: string, value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new Error(`--${name} ${value}: must be a whole number`);
  return Number(value);
}

function databaseNamed(name: string): (typeof DATABASES)[number] {
  const database = DATABASES.find((known) => known === name);
  if (database === undefined) throw new Error(`--database ${name}: must be one of ${DATABASES.join(', ')}`);
  return database;
}
