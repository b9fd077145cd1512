import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CODE_BLOCKS, codeIn, PROSE, ROOT, tableBelow } from './readme.js';

/** As GitHub makes them of headings. */
const ANCHORS = [...PROSE.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-'),
);

const LINKS = [...PROSE.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { scripts: Record<string, string> };

describe('the links', () => {
  test.each(LINKS)('%s leads somewhere', (target) => {
    if (target.startsWith('#')) expect(ANCHORS).toContain(target.slice(1));
    else expect(existsSync(ROOT + target)).toBe(true);
  });

  test('to headings are unambiguous', () => {
    expect(ANCHORS).toHaveLength(new Set(ANCHORS).size);
  });

  test('at the top lead to every part that is not about what it is', () => {
    const top = [...PROSE.slice(0, PROSE.indexOf('\n## ')).matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
    const parts = [...PROSE.matchAll(/^## (.*)$/gm)].map(([, part = '']) =>
      part.toLowerCase().replaceAll(',', '').replaceAll(' ', '-'),
    );
    expect(parts.filter((part) => !top.includes(part))).toEqual(['what-it-guarantees', 'what-it-is-not']);
  });
});

describe('the commands of npm', () => {
  const shown =
    CODE_BLOCKS.filter(({ language }) => language === 'bash')
      .map(({ text }) => text)
      .join('\n') + PROSE;
  const names = new Set([...shown.matchAll(/\bnpm run ([\w-]+)/g)].map(([, name = '']) => name));

  test.each([...names])('npm run %s is one of package.json', (name) => {
    expect(scripts).toHaveProperty(name);
  });

  test('that start and test it are those of package.json', () => {
    expect(CODE_BLOCKS.map(({ text }) => text)).toEqual(expect.arrayContaining(['npm ci && npm start\n', 'npm ci && npm test\n']));
    expect(scripts['start']).toBe('exec node dist/main.js');
    expect(scripts).toHaveProperty('test');
  });

  test('for development are listed with what package.json has', () => {
    const commands = tableBelow('## Development', 'command | what it does').flatMap(([command = '']) => codeIn(command));
    expect(commands.map((command) => command.replace(/^npm (run )?/, '')).every((name) => name in scripts)).toBe(true);
  });
});
