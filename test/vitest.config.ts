import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { builtThreads } from './support/built-threads.js';

const fromRoot = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** What has to hold on whatever database; of these, what is about SQLite alone, or about no database. */
const ON_BOTH = [
  'test/{engine,faults,graphql}/**/*.test.ts',
  'test/store/reads/*.test.ts',
  'test/store/{migrations,migrations-drift,prisma-clients}.test.ts',
  'test/server/shutdown-real-time.test.ts',
];
const BUT_NOT = ['test/**/sqlite/**', 'test/graphql/{errors,pagination,retry-after,scalars,schema}.test.ts'];

const ON_POSTGRESQL_ALONE = ['test/**/postgresql/**/*.test.ts', 'test/**/postgresql.test.ts', 'test/cluster/**/*.test.ts'];

/** Tests that run on one kind of database. */
function project(
  name: 'sqlite' | 'postgresql',
  { include, exclude, globalSetup = [] }: { include: string[]; exclude: string[]; globalSetup?: string[] },
): TestProjectInlineConfiguration {
  return {
    root: fromRoot('.'),
    plugins: [builtThreads(fromRoot(''))],
    // graphql refuses values of another copy of itself, and Vite would load its ES module beside Node's CommonJS one.
    resolve: { alias: [{ find: /^graphql$/, replacement: fromRoot('node_modules/graphql/index.js') }] },
    test: {
      name,
      include,
      exclude,
      globalSetup,
      provide: { database: name },
      pool: 'forks',
      testTimeout: 20_000,
      hookTimeout: 60_000,
    },
  };
}

export default defineConfig({
  root: fromRoot('.'),
  test: {
    // PostgreSQL is started only where a test of its project is run.
    projects: [
      project('sqlite', { include: ['test/**/*.test.ts'], exclude: ON_POSTGRESQL_ALONE }),
      project('postgresql', {
        include: [...ON_BOTH, ...ON_POSTGRESQL_ALONE],
        exclude: BUT_NOT,
        globalSetup: [fromRoot('test/support/postgresql/global-setup.ts')],
      }),
    ],
    globalSetup: fromRoot('test/support/build.ts'),
    reporters: ['default'],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], exclude: ['src/store/generated/**'] },
  },
});
