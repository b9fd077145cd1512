import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freshSeed } from './random.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** `npm test` runs the same test for a short time. */
const TEST = 'test/cluster/chaos-real-time.test.ts';
const DEFAULT_SECONDS = '300';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: String(freshSeed()) }, seconds: { type: 'string', default: DEFAULT_SECONDS } },
});
for (const [name, value] of Object.entries(values)) {
  if (!/^\d{1,9}$/.test(value)) throw new Error(`--${name} ${value}: must be a whole number`);
}
const { seed, seconds } = values;
console.log(`Chaos for ${seconds} s; again: npm run chaos -- --seed ${seed} --seconds ${seconds}`);

const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', TEST],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, HOLDFAST_CHAOS_SEED: seed, HOLDFAST_CHAOS_SECONDS: seconds },
  },
);
process.exitCode = status ?? 1;
