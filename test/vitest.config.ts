import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { builtThreads } from './support/built-threads.js';

const fromRoot = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

export default defineConfig({
  root: fromRoot('.'),
  plugins: [builtThreads(fromRoot(''))],
  // graphql refuses values of another copy of itself, and Vite would load its ES module beside Node's CommonJS one.
  resolve: { alias: [{ find: /^graphql$/, replacement: fromRoot('node_modules/graphql/index.js') }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: fromRoot('test/support/build.ts'),
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 60_000,
    reporters: ['default'],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], exclude: ['src/store/generated/**'] },
  },
});
