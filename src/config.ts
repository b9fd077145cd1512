import { z } from 'zod';
import { LIMITS, limitsOf, type ServerLimits } from './server/limits.js';
import type { RetentionPolicy } from './store/lock-store.js';
import { problemOfPostgresqlUrl } from './store/postgresql-url.js';

/** All that can be set from outside, checked and in the units that the code uses. */
export interface Config {
  /** `file:` and a path, or `postgresql://` and where the database is. */
  readonly databaseUrl: string;
  /** The PostgreSQL database again, by a way on which LISTEN works; null: changes of other instances are looked for once a second. */
  readonly listenUrl: string | null;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly defaultTtlMs: number;
  readonly maxTtlMs: number;
  readonly maxWaitMs: number;
  readonly retryWindowMs: number;
  readonly retention: RetentionPolicy;
  /** Origins besides the server's own that browsers may call from. */
  readonly allowedOrigins: readonly string[];
  /** Names that the service is called by, in lower case; none: all, unless it listens on loopback alone. */
  readonly allowedHosts: readonly string[];
  readonly graphiql: boolean;
  readonly introspection: boolean;
  /** What requests, operations and connections may ask for. */
  readonly limits: ServerLimits;
  readonly logLevel: LogLevel;
}

export type LogLevel = (typeof LOG_LEVELS)[number];

/** The environment can't be used. Each problem is one line that names the variable, its value and what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/** In the working directory. */
const DEFAULT_DATABASE_URL = 'file:./holdfast.db';

const DATABASE_URLS = 'file: and a path, as in file:./holdfast.db, or postgresql://user:password@host:port/database';
/** The value of LISTEN_DATABASE_URL that does without. */
const NO_LISTENING = 'none';

/** GraphQL's Int and Node's timers end here. */
const MAX_INT = 2_147_483_647;
const MAX_PORT = 65_535;
const MS_PER_HOUR = 3_600_000;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const ENVIRONMENT = z.object({
  DATABASE_URL: databaseUrl(DEFAULT_DATABASE_URL),
  LISTEN_DATABASE_URL: listenUrl(),
  HOST: checked('127.0.0.1', /^[\w.:%-]+$/, 'a host name or an IP address'),
  PORT: wholeNumber(4000, 0, MAX_PORT),
  DEFAULT_TTL_MS: wholeNumber(30_000, 1),
  MAX_TTL_MS: wholeNumber(86_400_000, 1),
  MAX_WAIT_MS: wholeNumber(300_000, 0),
  RETRY_WINDOW_MS: wholeNumber(600_000, 1),
  EVENT_RETENTION_HOURS: wholeNumber(168, 1),
  EVENT_RETENTION_ROWS: wholeNumber(1_000_000, 1),
  EXPIRED_RETENTION_HOURS: wholeNumber(24, 1),
  ALLOW_ANONYMOUS: oneOf(['true', 'false'], 'false'),
  ALLOWED_ORIGINS: list(isOrigin, 'origins, as in https://app.example.com'),
  ALLOWED_HOSTS: list(isHostName, 'host names, without ports, as in locks.example.com'),
  GRAPHIQL: oneOf(['true', 'false'], 'true'),
  INTROSPECTION: oneOf(['true', 'false'], 'true'),
  LOG_LEVEL: oneOf(LOG_LEVELS, 'info'),
});
const LIMIT_VARIABLES = z.object(
  Object.fromEntries(Object.values(LIMITS).map(({ variable, fallback, max }) => [variable, wholeNumber(fallback, 1, max)])),
);

/**
 * Reads the configuration from the environment, and touches nothing else. An empty variable counts as left out.
 *
 * @throws ConfigError with every problem there is, not with the first alone.
 */
export function readConfig(environment: Environment): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = ENVIRONMENT.safeParse(given);
  const limits = LIMIT_VARIABLES.safeParse(given);
  if (!parsed.success || !limits.success) {
    const issues = [parsed, limits].flatMap(({ error }) => error?.issues ?? []);
    throw new ConfigError(issues.map((issue) => describe(String(issue.path[0]), given, issue.message)));
  }
  const env = parsed.data;
  const problems = contradictions(env).map(([variable, allowed]) => describe(variable, env, allowed));
  if (problems.length > 0) throw new ConfigError(problems);

  return Object.freeze({
    databaseUrl: env.DATABASE_URL,
    listenUrl: env.LISTEN_DATABASE_URL === NO_LISTENING ? null : (env.LISTEN_DATABASE_URL ?? env.DATABASE_URL),
    host: env.HOST,
    port: env.PORT,
    defaultTtlMs: env.DEFAULT_TTL_MS,
    maxTtlMs: env.MAX_TTL_MS,
    maxWaitMs: env.MAX_WAIT_MS,
    retryWindowMs: env.RETRY_WINDOW_MS,
    retention: Object.freeze({
      eventAgeMs: env.EVENT_RETENTION_HOURS * MS_PER_HOUR,
      eventRows: env.EVENT_RETENTION_ROWS,
      expiredLockAgeMs: env.EXPIRED_RETENTION_HOURS * MS_PER_HOUR,
    }),
    allowedOrigins: Object.freeze(env.ALLOWED_ORIGINS),
    allowedHosts: Object.freeze(env.ALLOWED_HOSTS.map((name) => name.toLowerCase())),
    graphiql: env.GRAPHIQL === 'true',
    introspection: env.INTROSPECTION === 'true',
    limits: limitsOf(({ variable }) => limits.data[variable] as number),
    logLevel: env.LOG_LEVEL,
  });
}

/**
 * The database that the environment names; the default where the variable is empty or left out.
 *
 * @throws ConfigError where it is none.
 */
export function databaseUrlOf({ DATABASE_URL }: Environment): string {
  const parsed = ENVIRONMENT.shape.DATABASE_URL.safeParse(DATABASE_URL === '' ? undefined : DATABASE_URL);
  if (parsed.success) return parsed.data;
  throw new ConfigError(parsed.error.issues.map(({ message }) => describe('DATABASE_URL', { DATABASE_URL }, message)));
}

/** Whether only this machine can connect to it. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

type Environment = Readonly<Record<string, string | undefined>>;
type Checked = z.infer<typeof ENVIRONMENT>;

/** What is wrong between variables that are right one by one: the variable, and what it must be. */
function contradictions(env: Checked): [keyof Checked, string][] {
  const found: [keyof Checked, string][] = [];
  if (env.DEFAULT_TTL_MS > env.MAX_TTL_MS) {
    found.push(['DEFAULT_TTL_MS', `must be at most MAX_TTL_MS, which is ${env.MAX_TTL_MS}`]);
  }
  const { LISTEN_DATABASE_URL: listenUrl = NO_LISTENING } = env;
  if (listenUrl !== NO_LISTENING && !isPostgresqlUrl(env.DATABASE_URL)) {
    found.push([
      'LISTEN_DATABASE_URL',
      'must be left out where DATABASE_URL is not PostgreSQL: it is the same database by another way',
    ]);
  }
  if (!isLoopback(env.HOST) && env.ALLOW_ANONYMOUS !== 'true') {
    found.push([
      'HOST',
      'must be a loopback address (127.0.0.1, ::1, localhost), unless ALLOW_ANONYMOUS=true: there are no credentials, so whoever reaches the port can take and release locks',
    ]);
  }
  return found;
}

function describe(variable: string, values: Readonly<Record<string, unknown>>, allowed: string): string {
  return `${variable}=${JSON.stringify(withoutPassword(String(values[variable])))}: ${allowed}`;
}

/** A database URL may carry a password, which may hold any character, and stand among the parameters as well. */
function withoutPassword(value: string): string {
  const [, scheme] = /^(postgres(?:ql)?:\/\/)[^@]+$/is.exec(value) ?? [];
  if (scheme !== undefined && (!URL.canParse(value) || value.includes('#'))) return `${scheme}***`;
  return value.replace(/^([a-z]+:(?:\/\/)?)?.*@/is, '$1***@').replace(/(password=)[^&]*/gi, '$1***');
}

function checked(fallback: string, pattern: RegExp, allowed: string) {
  return z.string().regex(pattern, `must be ${allowed}`).default(fallback);
}

function wholeNumber(fallback: number, min: number, max = MAX_INT) {
  const allowed = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,10}$/, allowed)
    .transform(Number)
    .refine((value) => value >= min && value <= max, allowed)
    .default(fallback);
}

function oneOf<const T extends readonly [string, ...string[]]>(values: T, fallback: T[number]) {
  return z.enum(values, `must be one of ${values.join(', ')}`).default(fallback as never);
}

function databaseUrl(fallback: string) {
  return z
    .string()
    .check(({ value: url, issues }) => {
      if (/^file:[^?#]+$/.test(url)) return;
      const message = isPostgresqlUrl(url) ? problemOfPostgresqlUrl(url) : `must be ${DATABASE_URLS}`;
      if (message !== null) issues.push({ code: 'custom', input: url, message });
    })
    .default(fallback);
}

function listenUrl() {
  return z
    .string()
    .check(({ value: url, issues }) => {
      if (url === NO_LISTENING) return;
      const message = isPostgresqlUrl(url)
        ? problemOfPostgresqlUrl(url)
        : `must be postgresql://user:password@host:port/database, or ${NO_LISTENING}`;
      if (message !== null) issues.push({ code: 'custom', input: url, message });
    })
    .optional();
}

function isPostgresqlUrl(url: string): boolean {
  return /^postgres(ql)?:\/\/./.test(url);
}

function list(isItem: (text: string) => boolean, items: string) {
  return z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .refine((found) => found.every(isItem), `must be a comma-separated list of ${items}`)
    .default([]);
}

/** Nothing but a name: neither a port nor a wildcard. */
function isHostName(value: string): boolean {
  return /^[\w-]+(\.[\w-]+)*$/.test(value);
}

/** A scheme, a host and perhaps a port: nothing else, and neither `*` nor `null`. */
function isOrigin(value: string): boolean {
  return /^https?:/.test(value) && URL.canParse(value) && new URL(value).origin === value;
}
