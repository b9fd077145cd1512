import { describe } from 'vitest';
import { createMigratedPostgresqlDatabase } from '../support/postgresql.js';
import { describeStore } from './store.js';

describe('PostgreSQL', () => {
  describeStore(createMigratedPostgresqlDatabase);
});
