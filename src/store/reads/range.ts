export interface Bound<Place> {
  readonly place: Place;
  readonly inclusive: boolean;
}

/** A stretch of the list, in its order; null: open on that side. */
export interface Range<Place> {
  readonly start: Bound<Place> | null;
  readonly end: Bound<Place> | null;
}

/** Rows of the range, at most `limit`: the first ones in the list's order, or the last ones in the reverse of it. */
export type ReadRows<Row, Place> = (range: Range<Place>, limit: number, backwards: boolean) => Promise<readonly Row[]>;
