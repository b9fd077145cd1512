import { afterAll, onTestFinished } from 'vitest';

type CleanUp = () => unknown;

/** Of what is being started for several tests; null: it is one test's alone. */
let collected: CleanUp[] | null = null;

/** Has something done when the test is over; for what {@link shared} starts, when all tests are that share it. The last comes first. */
export function whenOver(cleanUp: CleanUp): void {
  if (collected === null) {
    onTestFinished(async () => {
      await cleanUp();
    });
  } else collected.push(cleanUp);
}

/**
 * What the tests of a file or of a group may share, since none of them leaves anything behind by which another could fare
 * differently. It is started when the first of them asks for it.
 */
export function shared<T>(start: () => Promise<T>): () => Promise<T> {
  const cleanUps: CleanUp[] = [];
  let started: Promise<T> | undefined;
  afterAll(async () => {
    const errors: unknown[] = [];
    for (const cleanUp of cleanUps.reverse()) {
      try {
        await cleanUp();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, errors.join('\n'));
  });
  return () => (started ??= collect(cleanUps, start));
}

async function collect<T>(cleanUps: CleanUp[], start: () => Promise<T>): Promise<T> {
  collected = cleanUps;
  try {
    return await start();
  } finally {
    collected = null;
  }
}
