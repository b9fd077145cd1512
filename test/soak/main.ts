import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Those that depend on chance, with all their rounds; `npm test` runs the same ones with few. */
const TESTS = ['test/faults', 'test/fuzz', 'test/cluster', 'test/server/leaks-real-time.test.ts'];
const TIME_LIMIT_MS = 3_600_000;

const args = ['run', '--config', 'test/vitest.config.ts', `--testTimeout=${TIME_LIMIT_MS}`, ...TESTS, ...process.argv.slice(2)];
const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', ...args], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, HOLDFAST_SOAK: 'true' },
});
process.exitCode = status ?? 1;
