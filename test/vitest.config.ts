import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import type { InlineConfig } from 'vitest/node';
import { builtThreads } from './support/built-threads.js';
import { LongFirst } from './support/long-first.js';
import { isSoak } from './support/rounds.js';

const fromRoot = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** What has to hold on whatever database; of these, what is about SQLite alone, or about no database. */
const ON_BOTH = [
  'test/{engine,faults,graphql}/**/*.test.ts',
  'test/store/reads/*.test.ts',
  'test/store/{migrations,migrations-drift,prisma-clients}.test.ts',
  'test/server/shutdown-real-time.test.ts',
  'test/server/{leaks,gone-waiters,holding}-real-time.test.ts',
  'test/server/websocket.test.ts',
  // What comes in by the network is read in the same way on either, but what it asks for is not done so.
  ...(isSoak ? ['test/fuzz/fuzzed-*-real-time.test.ts'] : []),
];
const BUT_NOT = ['test/**/sqlite/**', 'test/graphql/{errors,pagination,retry-after,scalars,schema}.test.ts'];

const ON_POSTGRESQL_ALONE = ['test/**/postgresql/**/*.test.ts', 'test/**/postgresql.test.ts', 'test/cluster/**/*.test.ts'];

const REAL_TIME = 'test/**/*-real-time.test.ts';

/** Of what needs real time: what loads the machine as far as it goes, or measures the memory of its process. */
const LOADING = ['chaos', 'counter', 'late-commits', 'start', 'kill', 'leaks', 'slow-client', 'fuzzed-*'].join('|');
/** And what measures short times. All others of real time mostly wait. */
const MEASURING = ['sweeper', 'expired-rows', 'expiry-notice', 'first-read', 'hanging-database', 'errors', 'operation-limits'].join(
  '|',
);

/** One waits for its timers, its files or its database while the others are at work. */
const SIDE_BY_SIDE = availableParallelism() + 1;

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
 * Tests that run on one kind of database: those that need real time after the others, those of them that load the machine after
 * those that wait, and those that measure it last, with the machine to themselves.
 *
 * Loading the service takes longer than most tests do: so files share processes, unless the process is what is looked at.
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
      // Whatever hangs: on a machine that is busy a test takes many times as long as it needs.
      testTimeout: 60_000,
      hookTimeout: 60_000,
      expect: { poll: { timeout: 10_000 } },
      ...test,
    },
  });
  const realTime = (suffix: string, names: string, test: InlineConfig) =>
    project(suffix, { include: inRealTime(include), exclude: [...exclude, `test/**/${names}-real-time.test.ts`], ...test });
  return [
    project('', {
      include,
      exclude: [...exclude, REAL_TIME],
      isolate: false,
      maxWorkers: SIDE_BY_SIDE,
      sequence: { groupOrder: 0 },
    }),
    realTime('-real-time', `@(${LOADING}|${MEASURING})`, { isolate: false, maxWorkers: SIDE_BY_SIDE, sequence: { groupOrder: 1 } }),
    realTime('-loading', `!(${LOADING})`, { maxWorkers: 2, sequence: { groupOrder: 2 } }),
    realTime('-measuring', `!(${MEASURING})`, { maxWorkers: 1, sequence: { groupOrder: 3 } }),
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
    sequence: { sequencer: LongFirst },
    reporters: ['default'],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], exclude: ['src/store/generated/**'] },
  },
});
