import fc from 'fast-check';

/** A change of a sequence at one place. */
export type Edit<T> = (sequence: readonly T[]) => T[];

/** Removes, doubles, swaps or puts in something of a sequence. @param longest how much more than one element may be concerned. */
export function editsOf<T>(inserted: fc.Arbitrary<T>, longest: number): fc.Arbitrary<Edit<T>> {
  const kind = fc.constantFrom('remove', 'double', 'swap', 'insert', 'replace');
  const place = fc.double({ min: 0, max: 0.999, noNaN: true });
  return fc
    .tuple(kind, place, place, inserted, fc.integer({ min: 1, max: 1 + longest }))
    .map(([how, one, other, piece, length]) => (sequence) => {
      const at = Math.floor(one * sequence.length);
      const [before, after] = [sequence.slice(0, at), sequence.slice(at)];
      switch (how) {
        case 'remove':
          return [...before, ...after.slice(length)];
        case 'double':
          return [...before, ...after.slice(0, length), ...after];
        case 'insert':
          return [...before, piece, ...after];
        case 'replace':
          return [...before, piece, ...after.slice(length)];
        case 'swap':
          return swapped(sequence, at, Math.floor(other * sequence.length));
      }
    });
}

function swapped<T>(sequence: readonly T[], one: number, other: number): T[] {
  return sequence.map((element, at) => (at === one ? sequence[other]! : at === other ? sequence[one]! : element));
}
