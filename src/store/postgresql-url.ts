/** What Prisma and others understand besides would be left out without a word. */
const PARAMETERS = [
  'host',
  'port',
  'user',
  'password',
  'ssl',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslnegotiation',
  'uselibpqcompat',
  'application_name',
  'options',
];

const FORM = 'must be postgresql://user:password@host:port/database';

/** What is wrong with the URL of a PostgreSQL database, as what it must be; null: nothing. Tells nothing of what is in it but names of parameters. */
export function problemOfPostgresqlUrl(url: string): string | null {
  const [, rest] = /^postgres(?:ql)?:\/\/[^/?#]*(.*)$/s.exec(url) ?? [];
  // Where a password is written as it is, the host seems to be in its midst.
  if (rest === undefined || !URL.canParse(url) || /[#@]/.test(rest)) {
    return `${FORM}, where the user and the password are percent-encoded: # as %23, / as %2F, ? as %3F, @ as %40`;
  }
  const { pathname, searchParams } = new URL(url);
  if (!/^\/[^/]+$/.test(pathname)) return `${FORM}: it names no database`;
  const unknown = [...new Set(searchParams.keys())].filter((name) => !PARAMETERS.includes(name));
  if (unknown.length > 0) return `must not have the parameter ${unknown.join(', ')}: allowed are ${PARAMETERS.join(', ')}`;
  return null;
}

/** Where the database is, without credentials: `db.internal:5432/locks`. */
export function placeOfPostgresql(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = decodeURIComponent(searchParams.get('host') ?? hostname);
  return `${host === '' ? 'localhost' : host}:${searchParams.get('port') ?? (port === '' ? '5432' : port)}${decodeURIComponent(pathname)}`;
}
