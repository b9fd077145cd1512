import type Database from 'better-sqlite3';

export type Value = string | bigint | number | null;

/** Rows of one statement: with so many, what it takes to begin and end a statement no longer shows. */
const ROWS = 16;

/** Makes the same change of many rows, several by one statement. */
export class Batches {
  readonly #several: Database.Statement<Value[]>;
  readonly #one: Database.Statement<Value[]>;

  /** @param textFor the statement for so many rows: its parameters are those of one row after those of the other. */
  constructor(db: Database.Database, textFor: (rows: number) => string) {
    this.#several = db.prepare(textFor(ROWS));
    this.#one = db.prepare(textFor(1));
  }

  run(rows: readonly (readonly Value[])[]): void {
    for (let done = 0; done < rows.length;) {
      const count = rows.length - done < ROWS ? 1 : ROWS;
      const values: Value[] = [];
      for (const row of rows.slice(done, done + count)) values.push(...row);
      (count === 1 ? this.#one : this.#several).run(...values);
      done += count;
    }
  }
}

/**
 * Inserts rows of these columns. Where one of them fails, those before it are there: the transaction has to be rolled back. To undo
 * the statement alone, SQLite would keep a copy of every page that it changes.
 */
export function insertion(db: Database.Database, table: string, columns: string): Batches {
  const row = `(${columns.replace(/\w+/g, '?')})`;
  return new Batches(db, (rows) => `INSERT OR FAIL INTO ${table} (${columns}) VALUES ${repeated(row, rows)}`);
}

/** `?, ?, ?` and the like. */
export function repeated(text: string, times: number): string {
  return Array<string>(times).fill(text).join(', ');
}
