import { resolve } from 'node:path';
import { defineConfig } from 'prisma/config';
import { databaseUrlOf } from '../src/config.js';

// For people who use the Prisma CLI on a Holdfast database. The server needs none of this: it applies the
// migrations itself at start.
const url = databaseUrlOf(process.env);
// A relative path starts at the working directory, as it does for the server; Prisma would start it at this file.
const resolved = url.startsWith('file:') ? `file:${resolve(url.slice('file:'.length))}` : url;
const provider = url.startsWith('postgres') ? 'postgresql' : 'sqlite';

export default defineConfig({
  schema: `${provider}/schema.prisma`,
  migrations: { path: `${provider}/migrations` },
  datasource: { url: resolved },
});
