import fc from 'fast-check';
import { oddNumber } from './odd-texts.js';

/** The last headers of a request, and its body. */
type Framing = (body: string) => string;

const CODINGS = ['chunked', 'chunked', 'chunked', 'gzip', 'chunked, chunked', 'Chunked', '\tchunked', 'identity', 'x', ''];

const SIZES: readonly ((length: number) => string)[] = [
  ...Array<(length: number) => string>(8).fill((length) => length.toString(16)),
  (length) => (length + 1).toString(16),
  (length) => `${length.toString(16)};x=${'y'.repeat(5_000)}`,
  () => 'ffffffffffffffffff',
  () => '-1',
  () => 'x',
];

const ENDS = [
  ...['0\r\n\r\n', '0\r\n\r\n', '0\r\n\r\n', '0\r\nx: y\r\n\r\n', `0\r\n${'x: y\r\n'.repeat(3_000)}\r\n`],
  ...['', '0\r\n', '0\n\n'],
];

/** In pieces, whose sizes may be wrong, and which may lack an end, or have a length besides. */
const chunked: fc.Arbitrary<Framing> = fc
  .tuple(
    fc.constantFrom(...CODINGS),
    fc.constantFrom('', '', '', 'content-length: 3\r\n'),
    fc.array(fc.constantFrom(...SIZES), { minLength: 1, maxLength: 3 }),
    fc.constantFrom(...ENDS),
  )
  .map(([coding, header, sizes, end]): Framing => (body) => {
    const length = Math.max(1, Math.ceil(body.length / sizes.length));
    const chunks = sizes.map((sizeOf, at) => {
      const piece = body.slice(at * length, (at + 1) * length);
      return piece === '' ? '' : `${sizeOf(piece.length)}\r\n${piece}\r\n`;
    });
    return `transfer-encoding: ${coding}\r\n${header}\r\n${chunks.join('')}${end}`;
  });

const withLength = (length: number | string, body: string) => `content-length: ${length}\r\n\r\n${body}`;

/** How it is said where the body ends: rightly, as a rule, and in every way by which servers have been led astray. */
export const framing: fc.Arbitrary<Framing> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Framing>((body) => withLength(body.length, body)) },
  {
    weight: 2,
    arbitrary: fc.integer({ min: -5, max: 5 }).map(
      (by): Framing =>
        (body) =>
          withLength(body.length + by, body),
    ),
  },
  {
    weight: 1,
    arbitrary: oddNumber.map(
      (length): Framing =>
        (body) =>
          withLength(length, body),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('0', '5', '+1', ', ', '\t1').map(
      (other): Framing =>
        (body) =>
          `content-length: ${other}\r\n${withLength(body.length, body)}`,
    ),
  },
  { weight: 3, arbitrary: chunked },
  { weight: 1, arbitrary: fc.constant<Framing>((body) => `\r\n${body}`) },
);
