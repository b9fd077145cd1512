/** The longest JSON value, in bytes of its text as UTF-8. */
export const MAX_JSON_BYTES = 4096;

/** What a JSON value must be, as shown to whoever sent one that isn't. */
export const JSON_RULE = `a JSON value of at most ${MAX_JSON_BYTES} bytes as text, its numbers finite, without NUL or lone surrogates in its strings`;

// JSON.stringify escapes of all code units above the control characters only lone surrogates. The look-behind tells an
// escape from an escaped backslash.
const NUL_OR_LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\u(?:0000|d)/u;

/** The value as JSON text; null where it is no JSON value that can be stored. */
export function toJsonText(value: unknown): string | null {
  // Its type leaves out that there is no text for undefined.
  let text: unknown;
  try {
    text = JSON.stringify(value, refuseNonFinite);
  } catch {
    // A number that is not finite, or more levels than the stack holds.
    return null;
  }
  if (typeof text !== 'string' || Buffer.byteLength(text) > MAX_JSON_BYTES || NUL_OR_LONE_SURROGATE.test(text)) return null;
  return text;
}

/** JSON.stringify would write null in its place. A literal like 1e999 is one. */
function refuseNonFinite(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('not finite');
  return value;
}
