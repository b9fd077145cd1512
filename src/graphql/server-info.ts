import { MAX_NAME_LENGTH } from '../locks/names.js';
import type { LogHead } from '../store/lock-store.js';
import { builder } from './builder.js';
import type { TimeLimits } from './context.js';
import { MAX_LOCKS_PER_CALL } from './inputs.js';
import { MAX_JSON_BYTES } from './json-text.js';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from './pagination.js';

const LimitsRef = builder.objectRef<TimeLimits>('Limits').implement({
  description: 'What a request may ask for, and what it gets where it leaves that open.',
  fields: (t) => ({
    defaultTtlMs: t.exposeInt('defaultTtlMs', {
      description: 'How long an acquire that names no ttlMs takes the lock for, in milliseconds.',
    }),
    maxTtlMs: t.exposeInt('maxTtlMs', { description: 'The longest ttlMs, in milliseconds.' }),
    maxWaitMs: t.exposeInt('maxWaitMs', { description: 'The longest waitMs, in milliseconds.' }),
    maxLocksPerCall: t.int({
      description: 'The most locks that one call names.',
      resolve: () => MAX_LOCKS_PER_CALL,
    }),
    retryWindowMs: t.exposeInt('retryWindowMs', {
      description: 'How long a request that is repeated gets the answer that was lost, at least, in milliseconds.',
    }),
    maxNameLength: t.int({
      description: 'The longest resource, owner, requestId or prefix, in Unicode code points.',
      resolve: () => MAX_NAME_LENGTH,
    }),
    defaultPageSize: t.int({
      description: 'How many a page shows where neither first nor last is given.',
      resolve: () => DEFAULT_PAGE_SIZE,
    }),
    maxPageSize: t.int({ description: 'The most that first or last can ask for.', resolve: () => MAX_PAGE_SIZE }),
    maxMetadataBytes: t.int({
      description: 'The longest metadata, in bytes of its JSON text as UTF-8.',
      resolve: () => MAX_JSON_BYTES,
    }),
  }),
});

const ServerRef = builder.objectRef<LogHead>('Server').implement({
  description: 'The service itself: its clock, its log, its limits.',
  fields: (t) => ({
    version: t.string({ description: 'The version of the product.', resolve: (_head, _args, { version }) => version }),
    now: t.field({
      type: 'DateTime',
      description: 'The time of the one clock that decides every expiry.',
      resolve: (_head, _args, context) => context.now(),
    }),
    logId: t.exposeID('logId', { description: 'Which history the revisions belong to: a restored database gets a new one.' }),
    revision: t.expose('revision', { type: 'BigInt', description: 'The newest revision.' }),
    oldestRevision: t.expose('oldestRevision', {
      type: 'BigInt',
      description: 'The oldest revision after which a watch can resume.',
    }),
    limits: t.field({
      type: LimitsRef,
      description: 'What a request may ask for.',
      resolve: (_head, _args, { limits }) => limits,
    }),
  }),
});

builder.queryField('server', (t) =>
  t.field({
    type: ServerRef,
    description: 'The service itself: its clock, its log, its limits.',
    resolve: (_root, _args, { engine }) => engine.head(),
  }),
);
