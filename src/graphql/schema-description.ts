import { MAX_NAME_LENGTH } from '../locks/names.js';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from './pagination.js';

/** What holds for the whole API, where clients look for it first. */
export const SCHEMA_DESCRIPTION = `Holdfast: distributed locks with fencing tokens, kept in a relational database.

A refusal that is part of the domain (held by somebody else, nothing held, a stale token) is a member of the result's union.
Everything else is a GraphQL error, and its extensions.code says what it is; more codes may come, so keep a default branch:

- BAD_USER_INPUT: a value breaks a documented limit or can't be read; extensions.argument names it, the message states the limit.
- UNAVAILABLE: the database did not answer, or the server is overloaded or shutting down; extensions.retryable is true; whether
  the change happened is unknown unless extensions.applied is false.
- OPERATION_LIMIT_EXCEEDED: the operation is larger than the server takes.
- GRAPHQL_PARSE_FAILED, GRAPHQL_VALIDATION_FAILED: the document is not valid GraphQL, or does not fit this schema.
- UNAUTHENTICATED, PERMISSION_DENIED, RATE_LIMITED: only where the server asks for credentials.
- INTERNAL_SERVER_ERROR: a fault of the server, logged with the id in extensions.id; no details are shown.

Names (resource, owner, requestId, prefix): 1 to ${MAX_NAME_LENGTH} Unicode code points (a prefix may be empty), no control characters, no lone
surrogates, no white space at either end (a prefix may end with it); compared code point by code point, never normalised, never folded.

Revisions and fencing tokens: 0 to 2^63 - 1. Pages: ${DEFAULT_PAGE_SIZE} by default, ${MAX_PAGE_SIZE} at most. An argument that is null counts as left out.`;
