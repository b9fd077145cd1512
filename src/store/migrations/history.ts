/** One attempt at a migration, as the database records it. */
export interface MigrationRecord {
  readonly name: string;
  /** false: it is under way, or its process died. */
  readonly finished: boolean;
  /** It counts as never made. */
  readonly rolledBack: boolean;
}

/** How a database's past compares with the migrations a program knows. */
export interface HistoryStatus {
  /** Not applied yet, the unfinished ones included. */
  readonly pending: readonly string[];
  readonly unfinished: readonly string[];
  /** Made by a program that knows more migrations: a newer one. */
  readonly unknown: readonly string[];
}

export function compareHistory(known: readonly string[], records: readonly MigrationRecord[]): HistoryStatus {
  const counting = records.filter((record) => !record.rolledBack);
  const finished = new Set(counting.filter((record) => record.finished).map((record) => record.name));
  return {
    pending: known.filter((name) => !finished.has(name)),
    unfinished: distinct(counting.filter((record) => !record.finished && !finished.has(record.name))),
    unknown: distinct(counting.filter((record) => !known.includes(record.name))),
  };
}

function distinct(records: readonly MigrationRecord[]): string[] {
  return [...new Set(records.map((record) => record.name))];
}
