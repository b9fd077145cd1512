import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/server/limits.js';
import { startTestApp } from '../support/app.js';
import { post } from '../support/http-client.js';

describe('a document', () => {
  test('that validation would compare field by field takes little time', async () => {
    const { url } = await startTestApp();
    const started = performance.now();
    await post(url, `{ ${'server { version } '.repeat(400)} }`);
    await post(url, `{ server { ${'version '.repeat(DEFAULT_LIMITS.tokens - 20)} } }`);
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});
