import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The source text of each file, by its path below src/. */
export type Sources = ReadonlyMap<string, string>;

interface Import {
  readonly from: string;
  /** A path below src/, or the name of a package. */
  readonly to: string;
  readonly isLocal: boolean;
  /** Erased by the compiler: `import type`, `export type`. */
  readonly isType: boolean;
}

/** A file imports only from its own layer and from those to the right of it. */
const LAYERS = ['main', 'app', 'config', 'server', 'graphql', 'engine', 'store', 'locks'];
const ENTRIES = ['main.ts', 'admin.ts'];
const MAY_OBSERVE = ['main', 'app', 'server', 'observability'];

const STATEMENT = /^(?:import|export)\s+(?:(type)\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const DYNAMIC = /\bimport\('([^']+)'\)/g;

export function readSources(): Sources {
  const root = fileURLToPath(new URL('../../src', import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'));
  const written = files.filter((file) => file.endsWith('.ts') && !file.startsWith('store/generated/'));
  return new Map(written.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** The imports that go against the layers, each as a line that names both ends. */
export function wrongArrows(sources: Sources): string[] {
  return importsOf(sources)
    .filter((found) => !isAllowed(found))
    .map(({ from, to }) => `${from} -> ${to}`);
}

/** The import cycles between files, each once. Types count: files that need each other's types can't be read one by one. */
export function cycles(sources: Sources): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of importsOf(sources)) targets.set(from, [...(targets.get(from) ?? []), to]);

  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]) => {
    if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file].join(' -> '));
    if (path.includes(file) || done.has(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of sources.keys()) visit(file, []);
  return found;
}

function importsOf(sources: Sources): Import[] {
  return [...sources].flatMap(([from, text]) => [
    ...[...text.matchAll(STATEMENT)].map(([, type, specifier = '']) => importOf(from, specifier, type !== undefined)),
    ...[...text.matchAll(DYNAMIC)].map(([, specifier = '']) => importOf(from, specifier, false)),
  ]);
}

function importOf(from: string, specifier: string, isType: boolean): Import {
  const isLocal = specifier.startsWith('.');
  const to = isLocal ? posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts') : specifier;
  return { from, to, isLocal, isType };
}

function isAllowed({ from, to, isLocal, isType }: Import): boolean {
  const source = layerOf(from);
  if (!isLocal) return source !== 'locks';
  const target = layerOf(to);
  if (target === 'observability') return MAY_OBSERVE.includes(source);
  if (source === 'observability') return isType;
  return LAYERS.includes(source) && LAYERS.includes(target) && LAYERS.indexOf(source) <= LAYERS.indexOf(target);
}

function layerOf(file: string): string {
  if (ENTRIES.includes(file)) return 'main';
  return file.split('/')[0]?.replace(/\.ts$/, '') ?? '';
}
