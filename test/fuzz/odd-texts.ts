import fc from 'fast-check';

/** Names that calls have in common, so that they meet. */
const KNOWN = ['a', 'b', 'job:1', 'job:2', 'A', 'B'];

const SPECIAL = [
  ...[
    '',
    ' ',
    ' a',
    'a ',
    '\t',
    '\n',
    '\0',
    'a\0b',
    '\u001f',
    '\u007f',
    '\u0085',
    '\u00a0',
    '\u00ad',
    '\u200b',
    '\u2028',
    '\ufeff',
  ],
  ...['\u202eabc', '\u05d0\u05d1', '\u0627\u0644', 'e\u0301', '\u00e9', '\u0301', 'a\u0301\u0302\u0303', '\u1100\u1161', '\u0130'],
  ...['😀', '👨‍👩‍👧‍👦', '🏳️‍🌈', '\u{10ffff}', '\uffff', '\ufffe', '\ufffd', '\ud800', 'a\udc00', '\udc00\ud800', '\u{e0001}'],
  ...[
    '%',
    '_',
    "'",
    '"',
    '\\',
    '/',
    '"""',
    '#',
    '$a',
    '${a}',
    '{',
    '}',
    '%00',
    '\\u0000',
    '\\ud800',
    "'; DROP TABLE lock_clock; --",
  ],
  ...['null', 'true', 'NaN', 'Infinity', '-0', '1e309', '0x10', '٣', '__proto__', 'constructor', 'toString', '[object Object]'],
];

const UNITS = ['a', 'é', '😀', '\u0301', '\u05d0', '\u{10ffff}', '\ud800', '\0'];

const loneSurrogate = fc.integer({ min: 0xd800, max: 0xdfff }).map((unit) => String.fromCharCode(unit));

/** Text of every kind of Unicode, of every length that matters. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  { weight: 24, arbitrary: fc.constantFrom(...KNOWN) },
  { weight: 8, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  { weight: 6, arbitrary: fc.constantFrom(...SPECIAL) },
  { weight: 2, arbitrary: fc.string({ unit: fc.oneof(loneSurrogate, fc.constantFrom(...UNITS)), maxLength: 6 }) },
  // About the most that a name may have.
  { weight: 2, arbitrary: repeated(253, 257) },
  { weight: 1, arbitrary: repeated(1_000, 10_000) },
);

function repeated(min: number, max: number): fc.Arbitrary<string> {
  return fc.tuple(fc.constantFrom(...UNITS), fc.integer({ min, max })).map(([unit, times]) => unit.repeat(times));
}

const EDGES = [
  ...['0', '-0', '1', '-1', '2', '49', '50', '255', '256', '499', '500', '501', '1000', '1001'],
  ...['2147483647', '2147483648', '-2147483648', '-2147483649', '4294967295', '4294967296'],
  ...['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775808', '18446744073709551616'],
  ...['1e309', '-1e309', '1e-400', '1.5', '-0.1', '1.0', '1e3', '1E+2', '0.0', '9'.repeat(400), `0.${'3'.repeat(400)}`],
];

/** The text of a number, the same in JSON and in a document. */
export const oddNumber: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...EDGES),
  fc.integer({ min: 1, max: 60 }).map(String),
  fc.integer().map(String),
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);

const MOMENTS = [
  ...['2026-05-01T12:00:00.000Z', '2026-05-01T12:00:00Z', '2026-05-01t12:00:00.123456789z', '2026-05-01T12:00:00+14:00'],
  ...['1970-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '9999-12-31T23:59:60Z', '2026-02-30T00:00:00Z'],
  ...['+275760-09-13T00:00:00.000Z', '-000001-01-01T00:00:00Z', '2026-05-01', '2026-05-01T24:00:00Z', '2026-05-01T12:00:00+99:99'],
  ...[`2026-05-01T12:00:00.${'1'.repeat(5_000)}Z`, '2026-05-01T12:00:00', '٢٠٢٦-05-01T12:00:00Z'],
];

export const oddMoment: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...MOMENTS) },
  { weight: 2, arbitrary: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()) },
  { weight: 1, arbitrary: oddText },
);

const NODES = ['Lock', 'LockEvent', 'Server', '__proto__', ''];

/** What looks like an id of a node, and what does not. */
export const oddId: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(fc.constantFrom(...NODES), fc.oneof(oddText, oddNumber)).map(([type, rest]) => encoded(`${type}:${rest}`)),
  oddText,
);

/** What looks like a cursor, and what does not. */
export const oddCursor: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(fc.constantFrom('RESOURCE', 'EXPIRES_AT', 'REVISION', ''), fc.array(fc.oneof(oddText, oddNumber), { maxLength: 3 }))
    .map((parts) => encoded(JSON.stringify(parts.flat()))),
  oddText.map((text) => encoded(text)),
  oddText,
);

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url');
}
