import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange, type CacheExchangeOpts } from '@urql/exchange-graphcache';
import { introspectionFromSchema } from 'graphql';
import { test } from 'vitest';
import { schema } from '../../src/graphql/schema.js';
import { ACQUIRE, expectToComeBack, WATCH } from './scenario.js';
import { connectSocket } from './sockets.js';

const embedded = () => null;
const keys = { LockSnapshot: embedded, LockBookmark: embedded, LockAcquired: embedded, Conflict: embedded };

test('urql over graphql-ws comes back with a snapshot, and ends with what is true', async () => {
  await expectToComeBack((url, onChange) => {
    const sockets = connectSocket(url);
    const client = new Client({
      url,
      exchanges: [
        cacheExchange({ schema: introspectionFromSchema(schema) as NonNullable<CacheExchangeOpts['schema']>, keys }),
        fetchExchange,
        subscriptionExchange({
          forwardSubscription: ({ query = '', variables }) => ({
            subscribe: (sink) => ({ unsubscribe: sockets.subscribe({ query, variables }, sink) }),
          }),
        }),
      ],
    });
    const watch = client.subscription<{ lockChanges: object }>(WATCH, {}).subscribe(({ data, error }) => {
      if (error !== undefined) throw error;
      onChange(data!.lockChanges);
    });
    return {
      acquire: async (resource, owner) => {
        const { data, error } = await client.mutation(ACQUIRE, { resource, owner }).toPromise();
        if (error !== undefined) throw error;
        return data.acquireLock.__typename;
      },
      close: async () => {
        watch.unsubscribe();
        await sockets.dispose();
      },
    };
  });
});
