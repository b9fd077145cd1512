/** The longest name, in Unicode code points: one unit on every database and in every language. */
export const MAX_NAME_LENGTH = 255;

/** What a name must be, as shown to whoever sent one that isn't. */
export const NAME_RULE = `1 to ${MAX_NAME_LENGTH} Unicode code points, no control characters, no lone surrogates, no white space at either end`;
export const PREFIX_RULE = `at most ${MAX_NAME_LENGTH} Unicode code points, no control characters, no lone surrogates, no white space at its start`;

const CONTROL_CHARACTER = /\p{Cc}/u;
const WHITE_SPACE_AT_START = /^\s/u;
const WHITE_SPACE_AT_END = /\s$/u;

/** Whether this may name a resource, an owner or a request. Names are compared as they are: never normalised, never folded. */
export function isName(value: string): boolean {
  return value !== '' && isPrefix(value) && !WHITE_SPACE_AT_END.test(value);
}

/** Whether names can begin like this. A prefix may be empty, and may end with white space. */
export function isPrefix(value: string): boolean {
  return (
    isAtMost(value, MAX_NAME_LENGTH) && value.isWellFormed() && !CONTROL_CHARACTER.test(value) && !WHITE_SPACE_AT_START.test(value)
  );
}

function isAtMost(value: string, codePoints: number): boolean {
  // A code point takes one or two of the units that `length` counts.
  if (value.length <= codePoints) return true;
  if (value.length > 2 * codePoints) return false;
  return [...value].length <= codePoints;
}

/**
 * The names with a prefix are a range, and no character of it is a wildcard.
 *
 * @returns the least name, included, and what all of them lie below, in code point order; null where that does not exist.
 */
export function rangeOfPrefix(prefix: string): { readonly from: string; readonly before: string | null } {
  return { from: prefix, before: endOfPrefix(prefix) };
}

/** The least string above all that begin with the prefix, in code point order; null: there is none. */
function endOfPrefix(prefix: string): string | null {
  const codePoints = [...prefix];
  for (let last = codePoints.pop(); last !== undefined; last = codePoints.pop()) {
    const codePoint = last.codePointAt(0) as number;
    if (codePoint < 0x10ffff) return codePoints.join('') + String.fromCodePoint(nextScalarValue(codePoint));
  }
  return null;
}

/** Surrogates are no code points of a name: what follows the last one before them is the first one after. */
function nextScalarValue(codePoint: number): number {
  return codePoint === 0xd7ff ? 0xe000 : codePoint + 1;
}
