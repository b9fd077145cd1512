import type { Command } from '../locks/commands.js';
import type { Lock } from '../locks/lock.js';
import type { RememberedAcquisition } from '../locks/retries.js';

/** A release that may have been made before. */
export interface RetriedRelease {
  readonly resource: string;
  readonly fencingToken: bigint;
}

/** What a store has to look up in the log before a group is decided. */
export interface RetryLookups {
  readonly acquisitions: readonly RememberedAcquisition[];
  readonly releases: readonly RetriedRelease[];
}

/** The usual acquire and release look up nothing. */
export function retryLookups(commands: readonly Command[], rows: ReadonlyMap<string, Lock>): RetryLookups {
  const acquisitions: RememberedAcquisition[] = [];
  const releases: RetriedRelease[] = [];
  for (const command of commands) {
    if (command.kind === 'acquire' && command.requestId !== null) {
      const { resource, owner, requestId } = command;
      acquisitions.push({ resource, owner, requestId });
    } else if (command.kind === 'release' && command.fencingToken !== null) {
      // The token on a row is that of an acquisition that was not released.
      const { resource, fencingToken } = command;
      if (rows.get(resource)?.fencingToken !== fencingToken) releases.push({ resource, fencingToken });
    }
  }
  return { acquisitions, releases };
}
