/**
 * Runs after every `npm ci` and `npm install`: generates the Prisma clients and builds, without a network.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);

const run = (tool, args) => {
  execFileSync(process.execPath, [tool, ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    // Generating needs no schema engine, but asks for one and would download it: any executable will do.
    env: {
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      CHECKPOINT_DISABLE: '1',
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      ...process.env,
    },
  });
};

const find = (path) => {
  try {
    return require.resolve(path);
  } catch {
    return null;
  }
};

const prisma = find('prisma/build/index.js');
const tsc = find('typescript/bin/tsc');
if (prisma !== null && tsc !== null) {
  for (const provider of ['sqlite', 'postgresql'])
    run(prisma, ['generate', '--schema', `prisma/${provider}/schema.prisma`, '--no-hints']);
  run(tsc, []);
} else if (existsSync(`${root}/dist/main.js`)) {
  console.log('Installed without the build tools: the server that is already built in dist/ stays as it is.');
} else {
  console.warn(
    'Installed without the build tools, and dist/ holds no server: build with `npm ci`, or bring a dist/ built elsewhere.',
  );
}
