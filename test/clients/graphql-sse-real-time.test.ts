import { createClient } from 'graphql-sse';
import { test } from 'vitest';
import { expectToComeBack, RETRY_MS, watchThrough } from './scenario.js';

test('graphql-sse comes back with a snapshot, and ends with what is true', async () => {
  await expectToComeBack((url, onChange) => {
    const retry = () => new Promise<void>((resolve) => setTimeout(resolve, RETRY_MS));
    return watchThrough(createClient({ url, retryAttempts: Infinity, retry }), onChange);
  });
});
