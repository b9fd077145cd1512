import type { RetentionPolicy } from '../../src/store/lock-store.js';

/** Keeps everything: pruning is not what is measured. */
export const RETENTION: RetentionPolicy = { eventAgeMs: 1e12, eventRows: 1e9, expiredLockAgeMs: 1e12 };
