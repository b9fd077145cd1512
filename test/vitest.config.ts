import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import type { InlineConfig } from 'vitest/node';
import { builtThreads } from './support/built-threads.js';

const fromRoot = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** What has to hold on whatever database; of these, what is about SQLite alone, or about no database. */
const ON_BOTH = [
  'test/{engine,faults,graphql}/**/*.test.ts',
  'test/store/reads/*.test.ts',
  'test/store/{migrations,migrations-drift,prisma-clients}.test.ts',
  'test/server/shutdown-real-time.test.ts',
  'test/server/{leaks,gone-waiters,holding}-real-time.test.ts',
  'test/server/websocket.test.ts',
];
const BUT_NOT = ['test/**/sqlite/**', 'test/graphql/{errors,pagination,retry-after,scalars,schema}.test.ts'];

const ON_POSTGRESQL_ALONE = ['test/**/postgresql/**/*.test.ts', 'test/**/postgresql.test.ts', 'test/cluster/**/*.test.ts'];

const REAL_TIME = 'test/**/*-real-time.test.ts';

/** What measures short times, memory or the processor, or loads the machine as far as it goes. Others of real time mostly wait. */
const MEASURING = [
  ...['chaos', 'clocks', 'counter', 'late-commits', 'slow-reads', 'start'],
  ...['expiry-notice', 'first-read', 'kill', 'long-ttl', 'time-zone', 'busy-database'],
  ...['sweeper', 'errors', 'leaks', 'operation-limits', 'slow-client', 'expired-rows', 'busy'],
].join('|');

/** What of these needs real time. */
const inRealTime = (patterns: string[]) =>
  patterns
    .map((pattern) => pattern.replace('/*.test.ts', '/*-real-time.test.ts'))
    .filter((pattern) => pattern.includes('-real-time'));

interface Selection {
  readonly include: string[];
  readonly exclude: string[];
  readonly globalSetup?: string[];
}

/**
 * Tests that run on one kind of database: those that need real time after the others, and those that measure it last, with the
 * machine to themselves.
 */
function projects(
  name: 'sqlite' | 'postgresql',
  { include, exclude, globalSetup = [] }: Selection,
): TestProjectInlineConfiguration[] {
  const project = (suffix: string, test: InlineConfig) => ({
    root: fromRoot('.'),
    plugins: [builtThreads(fromRoot(''))],
    // graphql refuses values of another copy of itself, and Vite would load its ES module beside Node's CommonJS one.
    resolve: { alias: [{ find: /^graphql$/, replacement: fromRoot('node_modules/graphql/index.js') }] },
    test: {
      name: `${name}${suffix}`,
      globalSetup,
      provide: { database: name },
      pool: 'forks' as const,
      testTimeout: 20_000,
      hookTimeout: 60_000,
      ...test,
    },
  });
  return [
    project('', { include, exclude: [...exclude, REAL_TIME], maxWorkers: 2, sequence: { groupOrder: 0 } }),
    project('-real-time', {
      include: inRealTime(include),
      exclude: [...exclude, `test/**/@(${MEASURING})-real-time.test.ts`],
      maxWorkers: 2,
      sequence: { groupOrder: 1 },
    }),
    project('-measuring', {
      include: inRealTime(include),
      exclude: [...exclude, `test/**/!(${MEASURING})-real-time.test.ts`],
      maxWorkers: 1,
      sequence: { groupOrder: 2 },
    }),
  ];
}

export default defineConfig({
  root: fromRoot('.'),
  test: {
    // PostgreSQL is started only where a test of its project is run.
    projects: [
      ...projects('sqlite', { include: ['test/**/*.test.ts'], exclude: ON_POSTGRESQL_ALONE }),
      ...projects('postgresql', {
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
