import fc from 'fast-check';
import { anyOperation, brokenOperation } from './documents.js';
import { oddText } from './odd-texts.js';
import { anyValue } from './values.js';

/** Few, so that one is taken twice, or completed while it runs. */
const IDS = ['1', '2', '3', '', '__proto__', 'constructor', '"\\\u2028', '😀', 'x'.repeat(1_000)];

const id: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...IDS).map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: oddText.map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: anyValue.map(({ json }) => json) },
);
const any = anyValue.map(({ json }) => json);

const TYPES = [
  'connection_init',
  'connection_ack',
  'ping',
  'pong',
  'subscribe',
  'next',
  'error',
  'complete',
  'start',
  '__proto__',
  '',
];

const operation = fc
  .oneof(
    { weight: 4, arbitrary: anyOperation },
    { weight: 1, arbitrary: brokenOperation },
    { weight: 2, arbitrary: fc.constant({ query: 'subscription { lockChanges { __typename } }', variables: '{}' }) },
  )
  .map(({ query, variables }) => `{"query":${JSON.stringify(query)},"variables":${variables}}`);

const subscribe = fc.tuple(id, operation).map(([of, payload]) => `{"id":${of},"type":"subscribe","payload":${payload}}`);
const complete = id.map((of) => `{"id":${of},"type":"complete"}`);
const ping = fc.tuple(fc.constantFrom('ping', 'pong'), any).map(([type, payload]) => `{"type":"${type}","payload":${payload}}`);

/** Of a type that there is, but with parts that it may not have. */
const strange = fc
  .tuple(fc.constantFrom(...TYPES), fc.option(id, { nil: null }), fc.option(fc.oneof(any, operation), { nil: null }))
  .map(([type, of, payload]) => {
    const more = [...(of === null ? [] : [`"id":${of}`]), ...(payload === null ? [] : [`"payload":${payload}`])];
    return `{${[`"type":${JSON.stringify(type)}`, ...more].join(',')}}`;
  });

const INIT = '{"type":"connection_init"}';
const begin = fc.oneof(
  { weight: 3, arbitrary: fc.constant<string>(INIT) },
  { weight: 1, arbitrary: any.map((payload) => `{"type":"connection_init","payload":${payload}}`) },
);

/** A message of graphql-transport-ws that a client may send, or may not. */
export const message: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: subscribe },
  { weight: 8, arbitrary: complete },
  { weight: 3, arbitrary: ping },
  { weight: 1, arbitrary: strange },
  { weight: 1, arbitrary: begin },
  {
    weight: 1,
    arbitrary: fc.oneof(
      any,
      oddText.map((text) => text.toWellFormed()),
    ),
  },
);

/** What a client sends in one go. */
const flood: fc.Arbitrary<string[]> = fc
  .tuple(fc.constantFrom(50, 300, 1_100), fc.boolean(), subscribe, complete)
  .map(([times, areMany, first, then]) =>
    Array.from({ length: times }, (_, n) =>
      areMany ? [first, then].map((text) => text.replace(/"id":"/, `$&${n}`)) : [first, then],
    ).flat(),
  );

const burst = fc.oneof(
  { weight: 20, arbitrary: fc.array(message, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: flood },
);

/** What a client sends, in the turns in which it does: as a rule it begins as it should. */
export const conversation: fc.Arbitrary<string[][]> = fc
  .tuple(
    fc.oneof({ weight: 9, arbitrary: fc.constant<string[][]>([[INIT]]) }, { weight: 1, arbitrary: fc.constant<string[][]>([]) }),
    fc.array(burst, { maxLength: 5 }),
  )
  .map(([first, rest]) => [...first, ...rest]);
