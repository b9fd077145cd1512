import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isEnumType, isUnionType } from 'graphql';
import { readConfig } from '../../src/config.js';
import { FIRST_PART } from '../../src/engine/snapshot-reads.js';
import { MAX_LOCKS_PER_CALL } from '../../src/graphql/inputs.js';
import { MAX_JSON_BYTES } from '../../src/graphql/json-text.js';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../../src/graphql/pagination.js';
import { schema } from '../../src/graphql/schema.js';
import { SCHEMA_DESCRIPTION } from '../../src/graphql/schema-description.js';
import { MAX_NAME_LENGTH } from '../../src/locks/names.js';
import { Metrics } from '../../src/observability/metrics.js';
import { LIMITS } from '../../src/server/limits.js';
import { startTestApp } from '../support/app.js';
import { codeIn, README, ROOT, tableBelow } from './readme.js';

const sourceOf = (file: string) => readFileSync(`${ROOT}src/${file}`, 'utf8');
const numberIn = (file: string, constant: string): number => {
  const [, value = ''] = new RegExp(`const ${constant} = ([\\d_ *]+)n?;`).exec(sourceOf(file)) ?? [];
  return value
    .replaceAll('_', '')
    .split('*')
    .reduce((product, factor) => product * Number(factor), 1);
};

describe('the table of the configuration', () => {
  const rows = tableBelow('## Configuration', 'variable | default | meaning').map(([variable = '', value = '']) => ({
    variable: codeIn(variable)[0] ?? '',
    value: codeIn(value)[0] ?? '',
  }));

  test('has every variable, in the order of the code', () => {
    const variables = [...sourceOf('config.ts').matchAll(/^ {2}([A-Z][A-Z_]+): /gm)].map(([, variable]) => variable);
    expect(rows.map(({ variable }) => variable)).toEqual(variables);
  });

  test.each(rows)('$variable is $value where it is left out', ({ variable, value }) => {
    const env: Record<string, string> = variable === 'ALLOW_ANONYMOUS' ? { HOST: '0.0.0.0' } : {};
    const read = (more: Readonly<Record<string, string>>) => {
      try {
        return readConfig({ ...env, ...more });
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(read({ [variable]: value })).toEqual(read({}));
  });

  test('shows the levels of the log', () => {
    const allowed = (() => {
      try {
        return JSON.stringify(readConfig({ LOG_LEVEL: 'none' }));
      } catch (error) {
        return (error as Error).message;
      }
    })();
    const meaning = tableBelow('## Configuration', 'variable | default | meaning').at(-1)?.[2] ?? '';
    expect(allowed).toContain(`must be one of ${codeIn(meaning).join(', ')}`);
  });
});

test('the table of the limits of the API has the numbers of the code', () => {
  const rows = tableBelow('## Limits', 'what | limit').map(([, limit = '']) =>
    Number(limit.replace(/ .*/, '').replaceAll(',', '')),
  );
  const ofValues = [MAX_NAME_LENGTH, MAX_JSON_BYTES, MAX_LOCKS_PER_CALL, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE];
  expect(rows).toEqual([...ofValues, FIRST_PART.limit]);
});

test('the table of the limits that can be set has each, with its variable, in the order of the code', () => {
  const rows = tableBelow('## Limits', 'what | limit | variable | what is beyond it').map(([, limit = '', variable = '']) => ({
    fallback: Number(limit.replaceAll(',', '')),
    variable: codeIn(variable)[0],
  }));
  expect(rows).toEqual(Object.values(LIMITS).map(({ fallback, variable }) => ({ fallback, variable })));
});

test('the table of the errors has every code of the schema', () => {
  const codes = [...SCHEMA_DESCRIPTION.matchAll(/^- ([A-Z_, ]+):/gm)].flatMap(([, list = '']) => list.split(', '));
  const rows = tableBelow('## Errors', 'code | what it says | retry').flatMap(([code = '']) => codeIn(code));
  expect(new Set(rows)).toEqual(new Set(codes));
  expect(rows).toHaveLength(codes.length);
});

test('the table of the metrics has every metric of the code, as it describes itself', async () => {
  const text = await new Metrics(() => Promise.resolve(0)).text();
  const described = [...text.matchAll(/^# HELP (holdfast_\w+) (.*)\n# TYPE \w+ (\w+)$/gm)].map(([, name, help, type]) => [
    name,
    type,
    help,
  ]);
  const rows = tableBelow('### Health, metrics, logs', 'metric | type | labels | what it says');
  expect(rows.map(([name = '', type, , help]) => [codeIn(name)[0], type, help]).sort()).toEqual(described.sort());
  for (const [name = '', , labels = ''] of rows) {
    const [, listed] =
      new RegExp(`'${codeIn(name)[0]?.replace('holdfast_', '')}'.*\\[(.*?)\\]\\)`).exec(sourceOf('observability/metrics.ts')) ?? [];
    expect(
      codeIn(labels)
        .map((label) => `'${label}'`)
        .join(', '),
    ).toBe(listed ?? '');
  }
});

test('the table of the snapshots has every reason', () => {
  const type = schema.getType('SnapshotReason');
  const reasons = isEnumType(type) ? type.getValues().map(({ name }) => name) : [];
  const rows = tableBelow('## Watching', 'reason of a snapshot | what it says').flatMap(([reason = '']) => codeIn(reason));
  expect(rows.sort()).toEqual(reasons.sort());
});

test.each([
  ['HoldUpdate', 'update | what it says'],
  ['LostCause', 'cause of a loss | what it says | and then'],
])('the table of %s has every one', (name, header) => {
  const type = schema.getType(name);
  const values = isEnumType(type) ? type.getValues() : isUnionType(type) ? type.getTypes() : [];
  const rows = tableBelow('### Holding by a subscription', header).flatMap(([cell = '']) => codeIn(cell));
  expect(rows.sort()).toEqual(values.map((value) => value.name).sort());
});

test('the table of the tabs has those of the page', async () => {
  const { url } = await startTestApp();
  const page = await (await fetch(url, { headers: { accept: 'text/html', connection: 'close' } })).text();
  const tabs = [...page.matchAll(/\\n(?:mutation|query|subscription) ([A-Z]\w+)(?= \{)/g)].map(([, tab]) => tab);
  const rows = tableBelow('## Five minutes in GraphiQL', 'tab | what it does').flatMap(([tab = '']) => codeIn(tab));
  expect(tabs).toEqual(rows);
});

test('the paths of the table answer', async () => {
  const { origin } = await startTestApp();
  for (const [path = ''] of tableBelow('### Health, metrics, logs', 'path | answer')) {
    const response = await fetch(`${origin}${codeIn(path)[0]}`, { headers: { connection: 'close' } });
    expect(response.status, path).toBe(200);
    await response.text();
  }
});

test.each([
  ['store/instance-lease.ts', 'INSTANCE_LEASE_MS', 5000, 'passed over within 5 seconds'],
  ['engine/owned-locks.ts', 'PAGE_LOCKS', 1000, 'changed a thousand at a time'],
  ['engine/engine.ts', 'BOOKMARK_MS', 15_000, 'after every 15 quiet seconds'],
  ['server/socket.ts', 'SILENCE_MS', 60_000, 'within 60 seconds'],
  ['store/sqlite/write-connection.ts', 'MAX_WAL_PAGES', 64_000, '16 to 250 MiB'],
  ['store/new-history.ts', 'REVISION_JUMP', 10 ** 12, 'jump ahead by 10^12'],
  ['store/postgresql/check-server.ts', 'OLDEST_VERSION', 13, 'PostgreSQL 13 or later'],
  ['store/postgresql/group-sql.ts', 'IDLE_TIMEOUT_MS', 1500, 'after 1.5 seconds'],
  ['store/postgresql/growth-listener.ts', 'POLL_MS', 1000, 'once a second'],
])('%s has the %s that is told', (file, constant, value, told) => {
  expect(numberIn(file, constant)).toBe(value);
  expect(README).toContain(told);
});
