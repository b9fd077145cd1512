import { describe, expect, test } from 'vitest';
import { isName, isPrefix, MAX_NAME_LENGTH, rangeOfPrefix } from '../../src/locks/names.js';

const ASTRAL = '😀';
const LONE_SURROGATE = '\ud800';

describe('a name', () => {
  test.each([
    ['of one letter', 'a'],
    ['with punctuation', 'report:monthly-2026-05/%_*'],
    ['with a space inside', 'a b'],
    ['of 255 letters', 'a'.repeat(MAX_NAME_LENGTH)],
    ['of 255 astral code points, 510 UTF-16 units', ASTRAL.repeat(MAX_NAME_LENGTH)],
    ['of 254 letters and an astral code point', 'a'.repeat(254) + ASTRAL],
    ['with a combining accent', 'e\u0301'],
    ['with a zero-width joiner', '\u{1f468}\u200d\u{1f469}'],
    ['with the last code point', '\u{10ffff}'],
  ])('%s is admitted', (_, value) => {
    expect(isName(value)).toBe(true);
  });

  test.each([
    ['that is empty', ''],
    ['of 256 letters', 'a'.repeat(MAX_NAME_LENGTH + 1)],
    ['of 256 astral code points', ASTRAL.repeat(MAX_NAME_LENGTH + 1)],
    ['of 256 code points, one of them astral', 'a'.repeat(255) + ASTRAL],
    ['with NUL', 'a\u0000b'],
    ['with a line feed', 'a\nb'],
    ['with DEL', 'a\u007fb'],
    ['with a C1 control', 'a\u0085b'],
    ['with a lone high surrogate', `a${LONE_SURROGATE}b`],
    ['with a lone low surrogate', 'a\udc00b'],
    ['with surrogates in the wrong order', '\udc00\ud800'],
    ['that begins with a space', ' a'],
    ['that ends with a space', 'a '],
    ['that is one space', ' '],
    ['that begins with a no-break space', '\u00a0a'],
    ['that ends with an ideographic space', 'a\u3000'],
    ['that begins with a byte order mark', '\ufeffa'],
  ])('%s is refused', (_, value) => {
    expect(isName(value)).toBe(false);
  });
});

describe('a prefix', () => {
  test.each([
    ['that is empty', ''],
    ['that ends with a space', 'a '],
    ['of 255 astral code points', ASTRAL.repeat(MAX_NAME_LENGTH)],
  ])('%s is admitted', (_, value) => {
    expect(isPrefix(value)).toBe(true);
  });

  test.each([
    ['of 256 letters', 'a'.repeat(MAX_NAME_LENGTH + 1)],
    ['that begins with a space', ' a'],
    ['with a control character', 'a\tb'],
    ['with a lone surrogate', LONE_SURROGATE],
  ])('%s is refused', (_, value) => {
    expect(isPrefix(value)).toBe(false);
  });
});

describe('the end of the range of a prefix', () => {
  test.each([
    ['that ends in a letter counts that letter on', 'job:', 'job;'],
    ['before the surrogates skips them', 'a\ud7ff', 'a\ue000'],
    ['at the end of the basic plane goes on to the astral ones', 'a\uffff', 'a\u{10000}'],
    ['that ends in an astral code point counts it on as a whole', 'a\u{1f600}', 'a\u{1f601}'],
    ['that ends in the last code point drops it and counts on the one before', 'a\u{10ffff}', 'b'],
    ['that ends in several last code points drops them all', 'a\u{10ffff}\u{10ffff}', 'b'],
    ['of the last code point alone does not exist', '\u{10ffff}', null],
    ['that is empty does not exist', '', null],
  ])('%s', (_, prefix, end) => {
    expect(rangeOfPrefix(prefix)).toEqual({ from: prefix, before: end });
  });

  test('lies above every name with the prefix and not above the next one, in code point order', () => {
    const compare = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
    const end = rangeOfPrefix('a\ud7ff').before ?? '';

    expect(compare('a\ud7ff\u{10ffff}', end)).toBeLessThan(0);
    expect(compare('a\ue000', end)).toBe(0);
    expect(compare('a\u{10000}', end)).toBeGreaterThan(0);
  });
});
