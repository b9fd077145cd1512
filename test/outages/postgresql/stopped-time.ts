import { onTestFinished, vi } from 'vitest';
import { runSql } from '../../support/sql.js';

export interface StoppedTime {
  readonly advance: (ms: number) => Promise<void>;
}

/**
 * From now on time stands still, by the clock that the database decides groups with, and by that of this process: no message
 * becomes too old on its way, however busy the machine is. Goes on when the test is over.
 */
export async function stopTime(databaseUrl: string): Promise<StoppedTime> {
  await runSql(databaseUrl, 'CREATE TABLE stopped_clock AS SELECT clock_timestamp() AS at');
  const functions = await runSql(
    databaseUrl,
    "SELECT pg_get_functiondef(oid) AS source FROM pg_proc WHERE proname LIKE 'holdfast_%' AND prosrc LIKE '%clock_timestamp()%'",
  );
  for (const { source } of functions) {
    await runSql(databaseUrl, (source as string).replaceAll('clock_timestamp()', '(SELECT s.at FROM stopped_clock AS s)'));
  }
  let elapsed = performance.now();
  const process = vi.spyOn(performance, 'now').mockImplementation(() => elapsed);
  onTestFinished(() => {
    process.mockRestore();
  });
  return {
    advance: async (ms) => {
      await runSql(databaseUrl, `UPDATE stopped_clock SET at = at + $1 * interval '1 ms'`, [ms]);
      elapsed += ms;
    },
  };
}
