import { describe } from 'vitest';
import { createPostgresqlDatabase } from '../support/postgresql.js';
import { describeStore } from './store.js';

describe('PostgreSQL', () => {
  describeStore(createPostgresqlDatabase);
});
