import { writeFileSync } from 'node:fs';
import { printSchema } from 'graphql';
import { schema } from './schema.js';

/** Writes schema.graphql: the API as it is reviewed. */
writeFileSync(new URL('../../schema.graphql', import.meta.url), `${printSchema(schema)}\n`);
