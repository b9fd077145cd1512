import {
  GraphQLError,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
  type DocumentNode,
  type GraphQLSchema,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { ErrorCode } from '../graphql/errors.js';
import { checkAnswer } from './answer-limit.js';
import { withCode } from './errors.js';
import { LIMITS } from './limits.js';
import { checkNesting, checkShape } from './operation-limits.js';

/** Texts kept parsed: in number, and in UTF-16 units together. A longer text than the last is parsed each time. */
const CACHED_DOCUMENTS = 1_000;
const CACHED_TEXT = 4_000_000;
const LONGEST_CACHED_TEXT = 100_000;

/** A document may be wrong in a thousand places; a caller reads the first few. */
const REPORTED_ERRORS = 20;

/** Texts of operations, read once each: within the limits, parsed, and valid against the schema. */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #rules;
  readonly #known = new LRUCache<string, DocumentNode>({
    max: CACHED_DOCUMENTS,
    maxSize: CACHED_TEXT,
    maxEntrySize: LONGEST_CACHED_TEXT,
    sizeCalculation: (_document, text) => text.length + 1,
  });

  constructor(schema: GraphQLSchema, introspection: boolean) {
    this.#schema = schema;
    this.#rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  }

  /** The document, or why there is none. */
  read(text: string): DocumentNode | readonly GraphQLError[] {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const document = parseWithinLimits(text);
    if (document instanceof GraphQLError) return [document];
    // Before validation, which takes time quadratic in the fields of one selection set.
    const tooLarge = checkShape(document);
    if (tooLarge !== null) return [tooLarge];
    const errors = validate(this.#schema, document, this.#rules, { maxErrors: REPORTED_ERRORS });
    if (errors.length > 0) return errors.map(asInvalid);
    const tooLong = checkAnswer(this.#schema, document);
    if (tooLong !== null) return [tooLong];
    this.#known.set(text, document);
    return document;
  }
}

/** A scalar that can't read a literal has said already, with a code, what is wrong with it. */
function asInvalid(error: GraphQLError): GraphQLError {
  return 'code' in error.extensions ? error : withCode(error, ErrorCode.validationFailed);
}

function parseWithinLimits(text: string): DocumentNode | GraphQLError {
  const tooDeep = checkNesting(text);
  if (tooDeep !== null) return tooDeep;
  try {
    return parse(text, { maxLexicalTokens: LIMITS.tokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    // graphql-js tells its limit of tokens from a syntax error by the sentence alone.
    const overLimit = error.message.includes(`${LIMITS.tokens} tokens`);
    return withCode(error, overLimit ? ErrorCode.limitExceeded : ErrorCode.parseFailed);
  }
}
