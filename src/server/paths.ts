/** What the server answers; every other path is not found. */
export const PATHS = {
  graphql: '/graphql',
  live: '/health/live',
  ready: '/health/ready',
  metrics: '/metrics',
} as const;

export type Path = (typeof PATHS)[keyof typeof PATHS];

const KNOWN: ReadonlySet<string> = new Set(Object.values(PATHS));

export function isKnownPath(path: string): path is Path {
  return KNOWN.has(path);
}
