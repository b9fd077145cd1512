import { describe, expect, test } from 'vitest';
import { cycles, readSources, wrongArrows } from './support/imports.js';

const sources = (files: Record<string, string>) => new Map(Object.entries(files));

describe('the sources', () => {
  test('import only to the right: main, app, config, server, graphql, engine, store, locks', () => {
    expect(wrongArrows(readSources())).toEqual([]);
  });

  test('import each other without a cycle', () => {
    expect(cycles(readSources())).toEqual([]);
  });
});

describe('the walk over the import lines', () => {
  test('of a tree with the files of every layer reads them all', () => {
    expect([...readSources().keys()]).toEqual(
      expect.arrayContaining(['locks/decide.ts', 'store/lock-store.ts', 'engine/engine.ts']),
    );
  });

  test.each([
    ['to the left', 'store/a.ts', "import { b } from '../engine/b.js';"],
    ['to the left, of a type', 'engine/a.ts', "import type { B } from '../graphql/b.js';"],
    ['to the left, over several lines', 'graphql/a.ts', "import {\n  b,\n  c,\n} from '../server/b.js';"],
    ['to the left, as a re-export', 'engine/a.ts', "export { b } from '../graphql/b.js';"],
    ['to the left, for its effects', 'engine/a.ts', "import '../graphql/b.js';"],
    ['to the left, at run time', 'engine/a.ts', "const b = await import('../app.js');"],
    ['from a folder below', 'store/sqlite/a.ts', "import { b } from '../../engine/b.js';"],
    ['of the configuration by a part', 'server/a.ts', "import type { Config } from '../config.js';"],
    ['of an entry', 'app.ts', "import { b } from './admin.js';"],
    ['of a package by the domain', 'locks/a.ts', "import { b } from 'node:crypto';"],
    ['of the store by the domain', 'locks/a.ts', "import type { B } from '../store/b.js';"],
    ['of a logger by the engine', 'engine/a.ts', "import type { Logger } from '../observability/logger.js';"],
    ['of a value by what observes', 'observability/a.ts', "import { b } from '../engine/b.js';"],
    ['by a file of no layer', 'helpers/a.ts', "import { b } from '../locks/b.js';"],
  ])('finds an import %s', (_, file, text) => {
    expect(wrongArrows(sources({ [file]: text }))).toEqual([expect.stringContaining(`${file} -> `)]);
  });

  test.each([
    ['to the right', 'graphql/a.ts', "import { b } from '../locks/b.js';"],
    ['within a layer', 'store/sqlite/a.ts', "import { b } from '../rows.js';"],
    ['of a package', 'store/a.ts', "import Database from 'better-sqlite3';"],
    ['of the app by an entry', 'admin.ts', "import { b } from './app.js';"],
    ['of a metric by the server', 'server/a.ts', "import { b } from '../observability/metrics.js';"],
    ['of a type by what observes', 'observability/a.ts', "import type { B } from '../engine/b.js';"],
  ])('admits an import %s', (_, file, text) => {
    expect(wrongArrows(sources({ [file]: text }))).toEqual([]);
  });

  test('finds a cycle over three files once', () => {
    const tree = sources({
      'locks/a.ts': "import { b } from './b.js';",
      'locks/b.ts': "import { c } from './c.js';",
      'locks/c.ts': "import type { A } from './a.js';",
    });
    expect(cycles(tree)).toEqual(['locks/a.ts -> locks/b.ts -> locks/c.ts -> locks/a.ts']);
  });

  test('finds no cycle where two files import the same third', () => {
    const tree = sources({
      'locks/a.ts': "import { b } from './b.js';\nimport { c } from './c.js';",
      'locks/b.ts': "import { c } from './c.js';",
      'locks/c.ts': '',
    });
    expect(cycles(tree)).toEqual([]);
  });
});
