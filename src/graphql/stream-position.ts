/** What the transport of a watch and the watch itself tell each other of where it is; one for each operation. */
export interface StreamPosition {
  /** The `Last-Event-ID` of a client that resumes a stream of server-sent events; null: it sent none, or there are none. */
  readonly lastEventId: string | null;
  /** The revision to which the item told last brings its reader; null: to none that could be resumed from. */
  revision: bigint | null;
}

/** Of an operation whose transport tells of no positions. */
export function noPosition(): StreamPosition {
  return { lastEventId: null, revision: null };
}
