import { GraphQLError, Kind, type DocumentNode, type FragmentDefinitionNode, type SelectionSetNode } from 'graphql';

/** What one operation and one connection may ask for. The same over every transport. */
export const LIMITS = {
  /** The body of a request, and one WebSocket message: 1 MiB. */
  messageBytes: 1_048_576,
  /** Lexical tokens of a document: validation takes time quadratic in them. An introspection takes about 300. */
  tokens: 2_000,
  /** Brackets within brackets in the text, whatever they mean: graphql-js' parser takes stack for each. */
  nesting: 64,
  /** Fields within fields. An introspection goes 14 deep. */
  depth: 20,
  /** Fields of the operation itself, aliases included: each is a query or a command of its own. */
  rootFields: 50,
  /** Fields in all, with every fragment counted where it is spread. */
  fields: 1_000,
  /** Operations under way on one WebSocket, subscriptions included. */
  operationsPerSocket: 1_000,
  /** WebSockets that are open at once. */
  sockets: 10_000,
} as const;

export const OPERATION_LIMIT_EXCEEDED = 'OPERATION_LIMIT_EXCEEDED';

export function limitExceeded(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: OPERATION_LIMIT_EXCEEDED } });
}

/**
 * Refuses a text that nests its brackets too deeply, before the parser sees it: the parser is recursive, and a few
 * thousand `[` or `{` overflow its stack in spite of any limit on tokens. One pass, which knows strings and comments.
 */
export function checkNesting(text: string): GraphQLError | null {
  let nesting = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
      case 0x5b: // [
      case 0x28: // (
        if (++nesting > LIMITS.nesting) return limitExceeded(`Brackets may be nested at most ${LIMITS.nesting} deep`);
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
export function checkShape(document: DocumentNode): GraphQLError | null {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const measure = createMeasure(fragments);
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const { depth, fields, ownFields } = measure(definition.selectionSet);
    if (depth > LIMITS.depth) return limitExceeded(`Fields may be nested at most ${LIMITS.depth} deep`);
    if (ownFields > LIMITS.rootFields) return limitExceeded(`An operation may have at most ${LIMITS.rootFields} fields of its own`);
    if (fields > LIMITS.fields) return limitExceeded(`An operation may have at most ${LIMITS.fields} fields in all`);
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
