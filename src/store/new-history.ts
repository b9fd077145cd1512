/** What a new history adds to the newest revision: more than any database hands out between a backup and its restore. */
export const REVISION_JUMP = 1_000_000_000_000n;

/** What a history begins with: whoever watched the old one is told. */
export interface NewHistory {
  readonly logId: string;
  /** Every later fencing token is above it, and so above all earlier ones. */
  readonly revision: bigint;
}
