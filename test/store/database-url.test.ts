import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { databaseName, sqlitePath } from '../../src/store/database-url.js';

test.each([
  ['file:./holdfast.db', resolve('holdfast.db')],
  ['file:data/holdfast.db', resolve('data/holdfast.db')],
  ['file:/var/lib/holdfast.db', '/var/lib/holdfast.db'],
  ['file:///var/lib/hold%20fast.db', '/var/lib/hold fast.db'],
])('the URL %s names the path %s', (url, path) => {
  expect(sqlitePath(url)).toBe(path);
});

test.each([
  ['file:./holdfast.db', resolve('holdfast.db')],
  ['postgresql://app:hunter2@db.internal:5433/locks?sslmode=require', 'db.internal:5433/locks'],
  ['postgres://app@db/my%20locks', 'db:5432/my locks'],
  ['postgresql:///locks?host=/run/postgresql', '/run/postgresql:5432/locks'],
])('the database of %s is told as %s', (url, name) => {
  expect(databaseName(url)).toBe(name);
});
