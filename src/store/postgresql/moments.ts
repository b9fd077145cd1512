/**
 * The database's clock in SQL, in epoch milliseconds: its reading at this very moment. (`now()` would be the beginning of the
 * transaction, older than its wait for the lock.) It depends on no time zone.
 */
const CLOCK = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** The present moment as an SQL expression. */
export type MomentSql = () => string;

/** @param wall a time that is set by hand; null: the database's. */
export function momentSql(wall: (() => number) | null): MomentSql {
  return wall === null ? () => CLOCK : () => `${wall()}::bigint`;
}
