import { Kind, type DocumentNode, type FragmentDefinitionNode, type GraphQLError, type SelectionSetNode } from 'graphql';
import { limitExceeded } from './errors.js';
import type { ServerLimits } from './limits.js';

/**
 * Refuses a text that nests its brackets too deeply, before the parser sees it: the parser is recursive, and a few
 * thousand `[` or `{` overflow its stack in spite of any limit on tokens. And one with too many directives. One pass, which
 * knows strings and comments.
 */
export function checkText(text: string, limits: ServerLimits): GraphQLError | null {
  let nesting = 0;
  let directives = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
      case 0x5b: // [
      case 0x28: // (
        if (++nesting > limits.nesting) return limitExceeded(`Brackets may be nested at most ${limits.nesting} deep`);
        break;
      case 0x40: // @
        if (++directives > limits.directives) return limitExceeded(`A document may have at most ${limits.directives} directives`);
        break;
      case 0x7d: // }
      case 0x5d: // ]
      case 0x29: // )
        nesting--;
        break;
      case 0x22: // "
        at = text.startsWith('"""', at) ? endOfBlockString(text, at) : endOfString(text, at);
        break;
      case 0x23: // #
        at = endOfLine(text, at);
        break;
    }
  }
  return null;
}

/** Refuses a document that is too deep or too wide. It need not be valid: unknown fragments count nothing, cycles once. */
export function checkShape(document: DocumentNode, limits: ServerLimits): GraphQLError | null {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const measure = createMeasure(fragments);
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const { depth, fields, ownFields } = measure(definition.selectionSet);
    if (depth > limits.depth) return limitExceeded(`Fields may be nested at most ${limits.depth} deep`);
    if (ownFields > limits.rootFields) return limitExceeded(`An operation may have at most ${limits.rootFields} fields of its own`);
    if (fields > limits.fields) return limitExceeded(`An operation may have at most ${limits.fields} fields in all`);
  }
  return null;
}

interface Shape {
  readonly depth: number;
  readonly fields: number;
  /** Those of the selection set itself, its fragments' included. */
  readonly ownFields: number;
}

const EMPTY: Shape = { depth: 0, fields: 0, ownFields: 0 };

/** Each fragment is measured once, so the time is linear in the document, however often it is spread. */
function createMeasure(fragments: ReadonlyMap<string, FragmentDefinitionNode>): (set: SelectionSetNode) => Shape {
  const measured = new Map<string, Shape>();

  const fragmentShape = (name: string): Shape => {
    const known = measured.get(name);
    if (known !== undefined) return known;
    measured.set(name, EMPTY);
    const fragment = fragments.get(name);
    const shape = fragment === undefined ? EMPTY : measure(fragment.selectionSet);
    measured.set(name, shape);
    return shape;
  };

  const measure = (set: SelectionSetNode): Shape => {
    let depth = 0;
    let fields = 0;
    let ownFields = 0;
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        const below = selection.selectionSet === undefined ? EMPTY : measure(selection.selectionSet);
        depth = Math.max(depth, below.depth + 1);
        fields += below.fields + 1;
        ownFields += 1;
      } else {
        const part =
          selection.kind === Kind.INLINE_FRAGMENT ? measure(selection.selectionSet) : fragmentShape(selection.name.value);
        depth = Math.max(depth, part.depth);
        fields += part.fields;
        ownFields += part.ownFields;
      }
    }
    return { depth, fields, ownFields };
  };
  return measure;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at];
    if (char === '\\') at++;
    // An unterminated string is the parser's to refuse.
    else if (char === '"' || char === '\n' || char === '\r') return at;
  }
  return text.length;
}

function endOfBlockString(text: string, start: number): number {
  let end = text.indexOf('"""', start + 3);
  while (end !== -1 && text[end - 1] === '\\') end = text.indexOf('"""', end + 3);
  return end === -1 ? text.length : end + 2;
}

function endOfLine(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\n' || text[at] === '\r') return at;
  }
  return text.length;
}
