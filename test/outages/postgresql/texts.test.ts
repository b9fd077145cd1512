import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AcquireCommand } from '../../../src/locks/commands.js';
import { isName } from '../../../src/locks/names.js';
import { toJsonText } from '../../../src/graphql/json-text.js';
import { acquire } from '../../support/commands.js';
import { createDatabase } from '../../support/database.js';
import { rounds, timeLimit } from '../../support/rounds.js';
import { runSql } from '../../support/sql.js';
import { openQuietStore } from './store.js';

/** What means something in a literal, in a list, in a body that is quoted by dollars, in a pattern, in JSON, or to no eye. */
const TRICKY = [
  "'",
  "''",
  '"',
  '\\',
  "\\'",
  "'; DROP TABLE distributed_locks; --",
  '{',
  '}',
  '{}',
  ',',
  'NULL',
  'null',
  '$$',
  '$1',
  '$body$',
  '%',
  '_',
  ';',
  '--',
  '/*',
  '*/',
  'E',
  'U&',
  '\\x41',
  '\\u0041',
  '\\000',
  '::text[]',
  ')',
  '🔒',
  '\u{1F468}\u200D\u{1F4BB}',
  'é',
  'e\u0301',
  'ß',
  '\u00A0x',
  '\u2028',
  '\uFEFFx',
  '\uFFFF',
  '\u{10FFFF}',
  ' x',
  'x ',
  'a b',
];

const text = fc.oneof(
  fc
    .array(fc.oneof(fc.constantFrom(...TRICKY), fc.string({ unit: 'binary', maxLength: 5 })), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
);
const name = text.filter(isName);
const metadata = fc.oneof(fc.jsonValue(), text, fc.dictionary(text, text, { maxKeys: 4 })).map(toJsonText);

const command: fc.Arbitrary<AcquireCommand> = fc
  .record({ resource: name, owner: name, requestId: fc.option(name), metadata })
  .map(({ resource, owner, ...rest }) => acquire(resource, owner, rest));

test('whatever names and metadata hold, they are stored and read back as they are', { timeout: timeLimit(60_000) }, async () => {
  const databaseUrl = await createDatabase();
  const store = await openQuietStore(databaseUrl);
  let revision = 0n;
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(command, { selector: ({ resource }) => resource, minLength: 1, maxLength: 20 }),
      async (group) => {
        const { events } = await store.commit(group);
        const acquired = await store.readLog(revision, 100, { resource: null, prefix: null, owner: null });
        ({ revision } = acquired);
        expect(acquired.events).toEqual(events);
        for (const { resource, owner, requestId, metadata: written } of group) {
          const [lock] = await store.readLocks({ resource, prefix: null, owner }, null, 2, await store.now());
          expect(lock).toMatchObject({ resource, owner, requestId, metadata: written });
          const narrow = await store.readLog(revision - BigInt(events.length), 10, { resource, prefix: null, owner });
          expect(narrow.events.at(-1)).toMatchObject({ type: 'ACQUIRED', resource, owner, requestId, metadata: written });
        }
        // Found again by its requestId, and by its token.
        const repeated = await store.commit(group.filter(({ requestId }) => requestId !== null));
        expect(repeated.events).toEqual([]);
        const released = await store.commit(
          group.map(({ resource, owner }) => ({ kind: 'release', resource, owner, fencingToken: null })),
        );
        expect(new Set(released.outcomes.map(({ kind }) => kind))).toEqual(new Set(['released']));
        ({ revision } = await store.head());
      },
    ),
    { numRuns: rounds(2_000, 60) },
  );
  expect(await runSql(databaseUrl, 'SELECT count(*) AS held FROM distributed_locks')).toEqual([{ held: 0n }]);
});
