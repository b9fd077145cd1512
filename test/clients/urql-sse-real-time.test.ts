import { Client, fetchExchange } from '@urql/core';
import { test } from 'vitest';
import { ACQUIRE, expectToComeBack, RETRY_MS, WATCH } from './scenario.js';

test('urql over server-sent events, asked again whenever it ends, comes back with a snapshot, and ends with what is true', async () => {
  await expectToComeBack((url, onChange) => {
    const client = new Client({ url, exchanges: [fetchExchange], fetchSubscriptions: true });
    let isClosed = false;
    let stop = () => {};
    const watch = () => {
      const { unsubscribe } = client.subscription<{ lockChanges: object }>(WATCH, {}).subscribe(({ data, error }) => {
        if (error === undefined) {
          onChange(data!.lockChanges);
          return;
        }
        // Or else two watches might run.
        unsubscribe();
        if (!isClosed) setTimeout(watch, RETRY_MS);
      });
      stop = unsubscribe;
    };
    watch();
    return {
      acquire: async (resource, owner) => {
        const { data, error } = await client.mutation(ACQUIRE, { resource, owner }).toPromise();
        if (error !== undefined) throw error;
        return data.acquireLock.__typename;
      },
      close: () => {
        isClosed = true;
        stop();
      },
    };
  });
});
