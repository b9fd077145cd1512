export type UnusableReason =
  /** DATABASE_URL, or what it names, is not what it has to be, or not there. */
  | 'INACCESSIBLE'
  /** It holds something else than Holdfast's tables. */
  | 'FOREIGN'
  /** A newer Holdfast has changed its schema. */
  | 'NEWER'
  /** Somebody else holds it, longer than it was worth waiting. */
  | 'IN_USE'
  /** A change of its schema failed; nothing of it was kept. */
  | 'MIGRATION_FAILED';

/** The database can't be used as it is. The message is one sentence for whoever started the program, and needs no stack. */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';

  constructor(
    readonly reason: UnusableReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
