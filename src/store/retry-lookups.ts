import { resourcesOf, type Command } from '../locks/commands.js';
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
    switch (command.kind) {
      case 'acquire':
      case 'acquire-all': {
        const { owner, requestId } = command;
        if (requestId === null) break;
        for (const resource of resourcesOf(command)) acquisitions.push({ resource, owner, requestId });
        break;
      }
      case 'release':
      case 'release-all':
        for (const { resource, fencingToken } of command.kind === 'release' ? [command] : command.locks) {
          // The token on a row is that of an acquisition that was not released.
          if (fencingToken === null || rows.get(resource)?.fencingToken === fencingToken) continue;
          releases.push({ resource, fencingToken });
        }
        break;
      case 'renew':
      case 'renew-all':
      case 'expire':
      case 'leave':
    }
  }
  return { acquisitions, releases };
}
