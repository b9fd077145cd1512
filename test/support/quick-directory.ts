import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Files in memory: nothing here has to outlive the machine, and no disk is waited for. */
const MEMORY = '/dev/shm';
/** What all databases of a run may take at a time, with room to spare. */
const ROOM_BYTES = 2 ** 30;

/** Where directories are made whose files are created, flushed and removed in the least time. Programs may not run from there. */
export function quickDirectory(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ROOM_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
