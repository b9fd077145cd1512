import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresqlDatabase } from '../../support/postgresql.js';
import { PostgresqlServerProcess } from '../../support/postgresql/server-process.js';
import { failToStart } from '../../support/server-process.js';
import { runSql } from '../../support/sql.js';

/** Of another server it is not known whether it asks for a password. */
let server: PostgresqlServerProcess;
beforeAll(async () => {
  server = await PostgresqlServerProcess.create();
});
afterAll(() => server.remove());

describe('a start on a PostgreSQL database that can not be used', () => {
  test.each([
    // Nothing listens on the port that stands for any.
    [
      'there is no server',
      { port: '1' },
      /^DATABASE_URL: the database 127\.0\.0\.1:1\/postgres can't be opened: nothing listens there \(.+\)\n$/,
    ],
    [
      'there is no such host',
      { hostname: 'no.such.host.invalid' },
      /^DATABASE_URL: .* can't be opened: (no such host|the name of).*\n$/,
    ],
    [
      'it takes no TLS',
      { search: '?sslmode=verify-full' },
      /can't be opened: it takes no encrypted connections, which sslmode .*\n$/,
    ],
    ['its certificate is missing', { search: '?sslrootcert=/none.pem' }, /can't be opened: .*\/none\.pem.*\n$/],
    ['the password is wrong', { password: 'not-the-one' }, /can't be opened: .*password authentication failed.*\n$/],
    ['there is no such database', { pathname: '/nothing' }, /can't be opened: .*"?nothing"?.*\n$/],
  ])('because %s says so in one line without the password, and exits with 1', async (_, change, line) => {
    const url = Object.assign(new URL(server.url), change);
    const { code, text } = await failToStart({ PORT: '0', DATABASE_URL: url.href });
    expect(text.split('\n')).toHaveLength(2);
    expect(text).toMatch(line);
    expect(text).not.toContain(url.password);
    expect(code).toBe(1);
  });

  test('because its account may not create tables says in one line which right it needs', async () => {
    await runSql(server.url, "CREATE ROLE guest LOGIN PASSWORD 'guest'");
    const url = Object.assign(new URL(server.url), { username: 'guest', password: 'guest' });
    const { code, text } = await failToStart({ PORT: '0', DATABASE_URL: url.href });
    expect(code).toBe(1);
    expect(text).toMatch(
      /^The schema could not be brought up to date, .*: permission denied for schema public\. .* CREATE on .*\n$/,
    );
  });

  test('because it holds the tables of something else says so in one line, and changes nothing', async () => {
    const databaseUrl = await createPostgresqlDatabase();
    await runSql(databaseUrl, 'CREATE TABLE orders (id INTEGER)');
    const { code, text } = await failToStart({ PORT: '0', DATABASE_URL: databaseUrl });
    expect([code, text]).toEqual([1, 'The database holds tables of something else than Holdfast: name an empty one\n']);
    const tables = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`;
    expect(await runSql(databaseUrl, tables)).toEqual([{ table_name: 'orders' }]);
  });
});
