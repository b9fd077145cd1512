import {
  getNamedType,
  getNullableType,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLNamedType,
  type GraphQLSchema,
  type SelectionSetNode,
} from 'graphql';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../graphql/pagination.js';
import { limitExceeded } from './errors.js';
import type { ServerLimits } from './limits.js';

/** Values that a selection set may answer. */
interface Values {
  /** For each time that it is answered. */
  readonly once: number;
  /** Besides, for each row of the page: how long that is, only the field above tells. */
  readonly perRow: number;
}

const NONE: Values = { once: 0, perRow: 0 };

/**
 * Refuses an operation whose answer may have too many values: a field counts once for each row that its page may have.
 * All of them are worked out in one turn of the event loop, in which nobody else is answered.
 *
 * @param document valid against the schema. What tells of the schema itself is not counted: no page makes it longer.
 */
export function checkAnswer(schema: GraphQLSchema, document: DocumentNode, { answerValues }: ServerLimits): GraphQLError | null {
  const count = createCount(schema, document);
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    if (count(definition.selectionSet, schema.getRootType(definition.operation)).once > answerValues) {
      return limitExceeded(`An answer may have at most ${answerValues} values: ask for fewer fields, or for smaller pages`);
    }
  }
  return null;
}

type Count = (set: SelectionSetNode, parent: GraphQLNamedType | null | undefined) => Values;

/** Each fragment is counted once, so the time is linear in the document. */
function createCount(schema: GraphQLSchema, document: DocumentNode): Count {
  const counted = new Map<FragmentDefinitionNode, Values>();
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }

  const ofFragment = (name: string): Values => {
    const fragment = fragments.get(name);
    if (fragment === undefined) return NONE;
    const values = counted.get(fragment) ?? count(fragment.selectionSet, schema.getType(fragment.typeCondition.name.value));
    counted.set(fragment, values);
    return values;
  };

  const ofField = (field: FieldNode, parent: GraphQLNamedType | null | undefined): Values => {
    const type = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[field.name.value]?.type : undefined;
    if (type === undefined || field.selectionSet === undefined) return { once: 1, perRow: 0 };
    const below = count(field.selectionSet, getNamedType(type));
    const each = 1 + below.once + below.perRow * pageSizeOf(field);
    if (!isListType(getNullableType(type))) return { once: each, perRow: 0 };
    if (field.name.value === 'edges') return { once: 0, perRow: each };
    return { once: each * lengthOf(field), perRow: 0 };
  };

  const count: Count = (set, parent) => {
    let { once, perRow } = NONE;
    for (const selection of set.selections) {
      let values: Values;
      if (selection.kind === Kind.FIELD) values = ofField(selection, parent);
      else if (selection.kind === Kind.FRAGMENT_SPREAD) values = ofFragment(selection.name.value);
      else {
        const { typeCondition } = selection;
        values = count(selection.selectionSet, typeCondition === undefined ? parent : schema.getType(typeCondition.name.value));
      }
      once += values.once;
      perRow += values.perRow;
    }
    return { once, perRow };
  };
  return count;
}

/** Rows that the page of a connection may have. The document is read once for all variables, so these count as the most. */
function pageSizeOf({ arguments: given = [] }: FieldNode): number {
  const sizes = given
    .filter(({ name, value }) => (name.value === 'first' || name.value === 'last') && value.kind !== Kind.NULL)
    .map(({ value }) => (value.kind === Kind.INT ? clamp(Number(value.value)) : MAX_PAGE_SIZE));
  return sizes.length === 0 ? DEFAULT_PAGE_SIZE : Math.max(...sizes);
}

/** Things that a list may have which is no page: as many as there are ids, where it is asked for by these. */
function lengthOf({ arguments: given = [] }: FieldNode): number {
  const ids = given.find(({ name }) => name.value === 'ids')?.value;
  if (ids?.kind === Kind.LIST) return clamp(ids.values.length);
  return ids === undefined || ids.kind === Kind.VARIABLE ? MAX_PAGE_SIZE : 1;
}

/** What is out of bounds is refused when it is executed, with a message of its own. */
function clamp(size: number): number {
  return Math.min(Math.max(size, 1), MAX_PAGE_SIZE);
}
