import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { sqlitePath } from '../../src/store/database-url.js';

test.each([
  ['file:./holdfast.db', resolve('holdfast.db')],
  ['file:data/holdfast.db', resolve('data/holdfast.db')],
  ['file:/var/lib/holdfast.db', '/var/lib/holdfast.db'],
  ['file:///var/lib/hold%20fast.db', '/var/lib/hold fast.db'],
])('the URL %s names the path %s', (url, path) => {
  expect(sqlitePath(url)).toBe(path);
});
