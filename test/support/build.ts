import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Before the first test: the tests that start the server, and every writer thread, run what is built. */
export default function setUp(project: TestProject): void {
  buildWhereStale();
  project.onTestsRerun(() => {
    buildWhereStale();
  });
}

function buildWhereStale(): void {
  if (readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).some(isStale)) {
    // Types are checked by `npm run typecheck`; here only the code is needed.
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--noCheck'], { cwd: root, stdio: 'inherit' });
  }
}

function isStale(file: string): boolean {
  if (!file.endsWith('.ts')) return false;
  const built = statSync(join(root, 'dist', file.replace(/\.ts$/, '.js')), { throwIfNoEntry: false });
  return built === undefined || built.mtimeMs < statSync(join(root, 'src', file)).mtimeMs;
}
