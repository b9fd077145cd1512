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
import type { Metrics } from '../observability/metrics.js';
import { checkAnswer } from './answer-limit.js';
import { limitExceeded, withCode } from './errors.js';
import type { ServerLimits } from './limits.js';
import { checkShape, checkText } from './operation-limits.js';
import { UnconditionalSubscriptionsRule } from './unconditional-subscriptions.js';

/** Texts kept parsed, in UTF-16 units together. A longer text than the last is parsed each time. */
const CACHED_TEXT = 4_000_000;
const LONGEST_CACHED_TEXT = 100_000;

/** A document may be wrong in a thousand places; a caller reads the first few. */
const REPORTED_ERRORS = 20;

export interface DocumentsOptions {
  readonly schema: GraphQLSchema;
  readonly introspection: boolean;
  readonly limits: ServerLimits;
  readonly metrics: Metrics;
}

/** Texts of operations, read once each: within the limits, parsed, and valid against the schema. */
export class Documents {
  readonly #options: DocumentsOptions;
  readonly #rules;
  readonly #known: LRUCache<string, DocumentNode>;

  constructor(options: DocumentsOptions) {
    this.#options = options;
    const rules = [...specifiedRules, UnconditionalSubscriptionsRule];
    this.#rules = options.introspection ? rules : [...rules, NoSchemaIntrospectionCustomRule];
    this.#known = new LRUCache({
      max: options.limits.cachedDocuments,
      maxSize: CACHED_TEXT,
      maxEntrySize: LONGEST_CACHED_TEXT,
      sizeCalculation: (_document, text) => text.length + 1,
    });
  }

  /** The document, or why there is none. */
  read(text: string): DocumentNode | readonly GraphQLError[] {
    const known = this.#known.get(text);
    this.#options.metrics.document(known !== undefined);
    if (known !== undefined) return known;
    const { schema, limits } = this.#options;
    const document = parseWithinLimits(text, limits);
    if (document instanceof GraphQLError) return [document];
    // Before validation, which takes time quadratic in the fields of one selection set.
    const tooLarge = checkShape(document, limits);
    if (tooLarge !== null) return [tooLarge];
    const errors = validate(schema, document, this.#rules, { maxErrors: REPORTED_ERRORS });
    if (errors.length > 0) return errors.map(asInvalid);
    const tooLong = checkAnswer(schema, document, limits);
    if (tooLong !== null) return [tooLong];
    this.#known.set(text, document);
    return document;
  }
}

/** A scalar that can't read a literal has said already, with a code, what is wrong with it. */
function asInvalid(error: GraphQLError): GraphQLError {
  return 'code' in error.extensions ? error : withCode(error, ErrorCode.validationFailed);
}

function parseWithinLimits(text: string, limits: ServerLimits): DocumentNode | GraphQLError {
  const refused = checkText(text, limits);
  if (refused !== null) return refused;
  try {
    return parse(text, { maxLexicalTokens: limits.tokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    // graphql-js tells its limit of tokens from a syntax error by the sentence alone.
    const overLimit = error.message.includes(`more that ${limits.tokens} tokens`);
    return overLimit
      ? limitExceeded(`A document may have at most ${limits.tokens} tokens`)
      : withCode(error, ErrorCode.parseFailed);
  }
}
