import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { Batches, insertion, repeated } from '../../../src/store/sqlite/batches.js';

function openTable(): Database.Database {
  const db = new Database(':memory:');
  onTestFinished(() => void db.close());
  db.exec('CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER)');
  return db;
}

const numbers = (count: number) => Array.from({ length: count }, (_, n): [string, number] => [`n${String(n).padStart(2, '0')}`, n]);

const rowsOf = (db: Database.Database) => db.prepare('SELECT name, value FROM numbers ORDER BY name').raw().all();

test.each([0, 1, 15, 16, 17, 32, 40])('%i rows: each is inserted, and each is deleted', (count) => {
  const db = openTable();
  insertion(db, 'numbers', 'name, value').run(numbers(count));
  expect(rowsOf(db)).toEqual(numbers(count));
  const kept = ['other', 0] as const;
  insertion(db, 'numbers', 'name, value').run([kept]);
  new Batches(db, (rows) => `DELETE FROM numbers WHERE name IN (${repeated('?', rows)})`).run(
    numbers(count).map(([name]) => [name]),
  );
  expect(rowsOf(db)).toEqual([kept]);
});

test('a row that fails: it is said, so that the transaction is rolled back', () => {
  const db = openTable();
  const insert = insertion(db, 'numbers', 'name, value');
  const twice = [...numbers(16), ...numbers(1)];
  expect(() => {
    db.transaction(() => insert.run(twice))();
  }).toThrow('UNIQUE constraint failed');
  expect(rowsOf(db)).toEqual([]);
});
