import Database from 'better-sqlite3';
import { isOutage } from './faults.js';

/** Takes everybody out of line, whatever instance they wait on. */
export const FORGET_WAITERS = 'DELETE FROM lock_waiters; DELETE FROM lock_instances; UPDATE lock_tickets SET waiting = 0;';

/**
 * Takes out of line whoever waited on a process that has ended, where that is certain: nobody has the file open. Without that,
 * a server that was killed and comes back at once would hand locks to callers that are gone, until its lease has run out.
 */
export function forgetDeadInstances(file: string): void {
  const db = new Database(file, { fileMustExist: true, timeout: 0 });
  try {
    // In this mode the first look at the file keeps everybody else out, or fails.
    db.pragma('locking_mode = EXCLUSIVE');
    const instances = db.prepare('SELECT count(*) FROM lock_instances').pluck().get();
    if (instances !== 0) db.exec(`BEGIN; ${FORGET_WAITERS} COMMIT`);
  } catch (error) {
    // Somebody else has it open; or whoever opens it next finds out what is the matter, and says so.
    if (!isOutage(error)) throw error;
  } finally {
    db.close();
  }
}
