/*
 * Values as literals: a whole group travels in one message of the simple protocol, in which there are no parameters. Lists
 * are the columns of rows, which the database reads in a third of the time that it takes for rows of JSON.
 */

/** No text can end its literal. (The driver's own function says the same, but takes half a second for a full group.) */
export function textLiteral(text: string): string {
  // To look first takes a quarter of the time, and there is hardly ever anything to escape.
  if (!text.includes("'") && !text.includes('\\')) return `'${text}'`;
  const escaped = text.replace(/['\\]/g, '$&$&');
  // Only so written, a backslash is the same whatever `standard_conforming_strings` says. The space keeps the E a word.
  return escaped.includes('\\') ? ` E'${escaped}'` : `'${escaped}'`;
}

export function textArray(texts: readonly (string | null)[]): string {
  let list = '';
  for (const text of texts) list += list === '' ? textElement(text) : `,${textElement(text)}`;
  return `${textLiteral(`{${list}}`)}::text[]`;
}

export function bigintArray(numbers: readonly (bigint | number)[]): string {
  return `'{${numbers.join()}}'::bigint[]`;
}

/** The values of a column, for a list. */
export function column<Row, Name extends keyof Row>(rows: readonly Row[], name: Name): Row[Name][] {
  return rows.map((row) => row[name]);
}

export function integerArray(numbers: readonly number[]): string {
  return `'{${numbers.join()}}'::integer[]`;
}

export function booleanArray(values: readonly boolean[]): string {
  return `'{${values.join()}}'::boolean[]`;
}

function textElement(text: string | null): string {
  if (text === null) return 'NULL';
  return text.includes('"') || text.includes('\\') ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`;
}
