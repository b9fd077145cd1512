import { defineConfig } from 'prisma/config';

// For people who use the Prisma CLI on a Holdfast database. The server needs none of this: it applies the
// migrations itself at start.
const url = process.env.DATABASE_URL ?? 'file:./holdfast.db';
const provider = url.startsWith('postgres') ? 'postgresql' : 'sqlite';

export default defineConfig({
  schema: `${provider}/schema.prisma`,
  migrations: { path: `${provider}/migrations` },
  datasource: { url },
});
