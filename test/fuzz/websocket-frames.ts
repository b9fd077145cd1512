import fc from 'fast-check';
import type { Sending } from './connection.js';
import { editsOf } from './edits.js';
import { message } from './protocol-messages.js';

const CONTINUATION = 0;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

interface Frame {
  readonly final: boolean;
  /** Of the three reserved bits: the first would say that it is compressed. */
  readonly reserved: number;
  readonly opcode: number;
  readonly masked: boolean;
  /** How the length is written, and by how much it is wrong. */
  readonly lengthBytes: 0 | 2 | 8;
  readonly lengthOff: number;
  readonly payload: string;
}

const seldom = <T>(usual: T, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
const CLOSES = [
  '',
  '\x03',
  '\x03\xe8',
  '\x03\xe9bye',
  '\x03\xed',
  '\x03\xee',
  '\x00\x00',
  '\xff\xff',
  '\x0f\xa0',
  '\x03\xe8\xff\xfe',
];

const payload: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: message.map((text) => Buffer.from(text).toString('latin1')) },
  { weight: 1, arbitrary: fc.string({ unit: byte, maxLength: 130 }) },
  { weight: 1, arbitrary: fc.constantFrom(...CLOSES) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(125, 126, 127, 65_535, 65_536, 1_048_576, 1_048_577).map((length) => ' '.repeat(length)),
  },
);

const opcode = fc.oneof(
  { weight: 8, arbitrary: fc.constant(TEXT) },
  { weight: 4, arbitrary: fc.constantFrom(CONTINUATION, BINARY, CLOSE, PING, PONG) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 15 }) },
);

const frame: fc.Arbitrary<Frame> = fc.record({
  final: seldom(true, fc.constant(false)),
  reserved: seldom(0, fc.integer({ min: 0, max: 7 })),
  opcode,
  masked: seldom(true, fc.constant(false)),
  lengthBytes: seldom<0 | 2 | 8>(0, fc.constantFrom(2, 8)),
  lengthOff: seldom(0, fc.constantFrom(-1, 1, 100, 2 ** 31, 2 ** 53)),
  payload,
});

/** A message as it is divided into frames, one of which may be missing or doubled. */
const fragments: fc.Arbitrary<Frame[]> = fc.tuple(frame, fc.integer({ min: 2, max: 4 }), frame).map(([whole, count, between]) => {
  const length = Math.ceil(whole.payload.length / count);
  const parts = Array.from({ length: count }, (_, at) => ({
    ...whole,
    opcode: at === 0 ? whole.opcode : CONTINUATION,
    final: at === count - 1,
    payload: whole.payload.slice(at * length, (at + 1) * length),
  }));
  return [...parts.slice(0, 1), between, ...parts.slice(1)];
});

const MASK = [0x12, 0x00, 0xff, 0x80];

/** A character for each byte. */
function bytesOf({ final, reserved, opcode: code, masked, lengthBytes, lengthOff, payload: text }: Frame): string {
  const length = Math.max(0, text.length + lengthOff);
  const size = Math.max(lengthBytes, length > 65_535 ? 8 : length > 125 ? 2 : 0);
  const head = Buffer.alloc(2 + size);
  head[0] = (final ? 0x80 : 0) | (reserved << 4) | code;
  head[1] = (masked ? 0x80 : 0) | (size === 0 ? length : size === 2 ? 126 : 127);
  if (size === 2) head.writeUInt16BE(length, 2);
  if (size === 8) head.writeBigUInt64BE(BigInt(length), 2);
  const body = Buffer.from(text, 'latin1');
  if (!masked) return head.toString('latin1') + text;
  for (const [at, value] of body.entries()) body[at] = value ^ MASK[at % MASK.length]!;
  return Buffer.concat([head, Buffer.from(MASK), body]).toString('latin1');
}

export const INIT = bytesOf({
  ...{ final: true, reserved: 0, opcode: TEXT, masked: true, lengthBytes: 0, lengthOff: 0 },
  payload: '{"type":"connection_init"}',
});

const frames = fc
  .array(fc.oneof({ weight: 4, arbitrary: frame.map((one) => [one]) }, { weight: 1, arbitrary: fragments }), { maxLength: 6 })
  .map((several) => several.flat().map(bytesOf));

const part = fc.double({ min: 0, max: 1, noNaN: true });

/** Frames, whole, cut off, or with some bytes of them changed. */
const rawFrames: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: frames.map((several) => several.join('')) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(frames, fc.array(editsOf(fc.string({ unit: byte, maxLength: 12 }), 10), { minLength: 1, maxLength: 2 }))
      .map(([several, edits]) => edits.reduce((bytes, edit) => edit(bytes), several.join('').split('')).join('')),
  },
  { weight: 1, arbitrary: fc.tuple(frames, part).map(([several, kept]) => several.join('').slice(0, -1 - Math.floor(kept * 20))) },
  { weight: 1, arbitrary: fc.string({ unit: byte, maxLength: 500 }) },
);

/** What comes on a connection once it is a WebSocket, as a rule after the message that begins. */
export const frameSending: fc.Arbitrary<Sending> = fc.record({
  bytes: fc.tuple(seldom(INIT, fc.constant('')), rawFrames).map((texts) => texts.join('')),
  cuts: fc.array(part, { maxLength: 3 }),
  end: fc.constantFrom('finished', 'finished', 'gone after the answer', 'gone at once'),
});
