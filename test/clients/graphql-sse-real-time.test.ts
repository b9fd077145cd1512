import { createClient } from 'graphql-sse';
import { test } from 'vitest';
import { ACQUIRE, expectToComeBack, RETRY_MS, WATCH } from './scenario.js';

test('graphql-sse comes back with a snapshot, and ends with what is true', async () => {
  await expectToComeBack((url, onChange) => {
    const client = createClient({
      url,
      retryAttempts: Infinity,
      retry: () => new Promise((resolve) => setTimeout(resolve, RETRY_MS)),
    });
    client.subscribe<{ lockChanges: object }>(
      { query: WATCH },
      {
        next: ({ data }) => onChange(data!.lockChanges),
        error: (error) => {
          throw error;
        },
        complete: () => undefined,
      },
    );
    return {
      acquire: async (resource, owner) => {
        for await (const { data } of client.iterate<any>({ query: ACQUIRE, variables: { resource, owner } })) {
          return data.acquireLock.__typename;
        }
        throw new Error('No answer came');
      },
      close: () => client.dispose(),
    };
  });
});
