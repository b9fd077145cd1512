import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export type Environment = Readonly<Record<string, string>>;

/** Environments that make a Node process believe in a wall clock that is wrong by so many milliseconds. */
export const CLOCK_OFFSETS = {
  /** As Node itself tells the time; works everywhere. */
  preload: (offsetMs: number): Environment => ({
    NODE_OPTIONS: `--import=${new URL('shifted-clock.js', import.meta.url).href}`,
    SHIFTED_CLOCK_MS: String(offsetMs),
  }),
  /** As the operating system tells the time to all of the process; null: the library is not installed. */
  libfaketime: (offsetMs: number): Environment | null => {
    const library = findLibfaketime();
    if (library === null) return null;
    const seconds = offsetMs / 1000;
    return {
      LD_PRELOAD: library,
      FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}`,
      // Timers go by the monotonic clock, which is not set by anybody.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  },
} as const;

/** The best way there is on this machine. */
export function clockOffset(offsetMs: number): Environment {
  if (offsetMs === 0) return {};
  return CLOCK_OFFSETS.libfaketime(offsetMs) ?? CLOCK_OFFSETS.preload(offsetMs);
}

/** Where the packages of Linux distributions put the variant for processes with several threads. */
function findLibfaketime(): string | null {
  const candidates = ['/usr/lib', '/usr/lib64', '/usr/local/lib'].flatMap((directory) => {
    const below = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
    return [directory, ...below.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name))];
  });
  const found = candidates.map((directory) => join(directory, 'faketime', 'libfaketimeMT.so.1')).filter((path) => existsSync(path));
  return found[0] ?? null;
}
