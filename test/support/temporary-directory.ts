import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { quickDirectory } from './quick-directory.js';
import { whenOver } from './shared.js';

/** An empty directory that is gone when the test is over; left out: where that takes the least time. */
export function temporaryDirectory(parent = quickDirectory()): string {
  const directory = mkdtempSync(join(parent, 'holdfast-'));
  whenOver(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}
