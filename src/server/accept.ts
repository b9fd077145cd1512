import { LRUCache } from 'lru-cache';

export const JSON_TYPE = 'application/json';
export const RESPONSE_TYPE = 'application/graphql-response+json';
export const EVENT_STREAM = 'text/event-stream';

export type MediaType = typeof JSON_TYPE | typeof RESPONSE_TYPE | typeof EVENT_STREAM;

export const MEDIA_TYPES: readonly MediaType[] = [JSON_TYPE, RESPONSE_TYPE, EVENT_STREAM];

/** What each type of ours goes by, the closest name first. A stream must be asked for: no wildcard stands for it. */
const NAMES: ReadonlyMap<MediaType, readonly string[]> = new Map([
  [JSON_TYPE, [JSON_TYPE, 'application/*', '*/*']],
  [RESPONSE_TYPE, [RESPONSE_TYPE, 'application/*', '*/*']],
  [EVENT_STREAM, [EVENT_STREAM]],
]);

/** Read once each: callers send one of few, and reading takes as long as all else that is done for a header. */
const known = new LRUCache<string, readonly MediaType[]>({ max: 100 });

/**
 * The types of ours that an Accept header takes, the one it would rather have first: by q, and where that is the same in
 * the order of the header. A type with q=0 is not taken, though a wildcard may name it, too (RFC 9110, 12.5.1).
 */
export function acceptedTypes(accept = ''): readonly MediaType[] {
  let types = known.get(accept);
  if (types === undefined) known.set(accept, (types = readTypes(accept)));
  return types;
}

function readTypes(accept: string): readonly MediaType[] {
  if (accept.trim() === '') return [JSON_TYPE];
  const ranges = accept
    .toLowerCase()
    .split(',')
    .map(readRange)
    .filter(({ isUtf8 }) => isUtf8);
  return [...NAMES]
    .flatMap(([type, names]) => {
      const name = names.find((candidate) => ranges.some((range) => range.name === candidate));
      const at = ranges.findIndex((range) => range.name === name);
      return name === undefined ? [] : [{ type, at, q: ranges[at]?.q ?? 0 }];
    })
    .filter(({ q }) => q > 0)
    .sort((one, other) => other.q - one.q || one.at - other.at)
    .map(({ type }) => type);
}

function readRange(text: string) {
  const [name = '', ...params] = text.split(';').map((part) => part.trim());
  const valueOf = (param: string) => params.find((candidate) => candidate.startsWith(`${param}=`))?.slice(param.length + 1);
  const q = Number(valueOf('q') ?? 1);
  return { name, q: Number.isNaN(q) ? 1 : q, isUtf8: (valueOf('charset') ?? 'utf-8') === 'utf-8' };
}
