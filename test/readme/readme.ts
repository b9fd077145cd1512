import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block. GitHub shows the text by the first word of the fence's line; the second one is for these tests. */
export interface CodeBlock {
  readonly language: string;
  /** The file it is saved as, or what is to be done with it; empty: nothing. */
  readonly name: string;
  readonly text: string;
  /** The JSON that is shown right after it, as its answer; null: there is none. */
  readonly answer: unknown;
}

export const README = readFileSync(`${ROOT}README.md`, 'utf8');

const FENCE = /^```(\w+)(?: ([\w.-]+))?\n(.*?)^```\n(?:\n```json\n(.*?)^```\n)?/gms;

export const CODE_BLOCKS: readonly CodeBlock[] = [...README.matchAll(FENCE)].map(
  ([, language = '', name = '', text = '', json]) => ({
    language,
    name,
    text,
    answer: json === undefined ? null : JSON.parse(json),
  }),
);

/** The README without its fenced blocks. */
export const PROSE = README.replaceAll(/^```.*?^```$/gms, '');

/** The one block of that name. */
export function codeBlock(language: string, name: string): CodeBlock {
  const [block, ...others] = CODE_BLOCKS.filter((candidate) => candidate.language === language && candidate.name === name);
  if (block === undefined || others.length > 0) throw new Error(`There must be one block: ${language} ${name}`);
  return block;
}

/** The cells of the first table below a heading, without its header. */
export function tableBelow(heading: string, header: string): readonly (readonly string[])[] {
  const section = README.slice(README.indexOf(`\n${heading}\n`));
  const lines = section.slice(section.indexOf(`\n| ${header} |`) + 1).split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  const rows = lines.slice(2, end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
  if (rows.length === 0) throw new Error(`There is no table ${header} below ${heading}`);
  return rows;
}

/** What stands in backticks, each on its own. */
export function codeIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** An answer whose moments and waits are replaced by what they are: two runs never agree on them. */
export function withoutTimes(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key: string, value: unknown) => {
    if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/.test(value)) return 'a moment';
    if (typeof value === 'number' && key.endsWith('Ms')) return 'milliseconds';
    return value;
  }) as unknown;
}
