import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache, type TypedDocumentNode } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { isAbstractType, OperationTypeNode } from 'graphql';
import { test } from 'vitest';
import { schema } from '../../src/graphql/schema.js';
import { ACQUIRE, expectToComeBack, WATCH } from './scenario.js';
import { connectSocket } from './sockets.js';

/** Which types each union and each interface stands for. */
const possibleTypes = Object.fromEntries(
  Object.values(schema.getTypeMap())
    .filter(isAbstractType)
    .map((type) => [type.name, schema.getPossibleTypes(type).map(({ name }) => name)]),
);
const ACQUIRE_DOCUMENT: TypedDocumentNode<any> = gql(ACQUIRE);
const WATCH_DOCUMENT: TypedDocumentNode<{ lockChanges: object }> = gql(WATCH);

test('Apollo Client over graphql-ws comes back with a snapshot, and ends with what is true', async () => {
  await expectToComeBack((url, onChange) => {
    const sockets = connectSocket(url);
    const client = new ApolloClient({
      link: ApolloLink.split(
        ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
        new GraphQLWsLink(sockets),
        new HttpLink({ uri: url }),
      ),
      cache: new InMemoryCache({
        possibleTypes,
        typePolicies: { Subscription: { fields: { lockChanges: { merge: false } } } },
      }),
    });
    const watch = client.subscribe({ query: WATCH_DOCUMENT }).subscribe(({ data, error }) => {
      if (error !== undefined) throw new Error(error.message);
      onChange(data!.lockChanges);
    });
    return {
      acquire: async (resource, owner) => {
        const { data } = await client.mutate({ mutation: ACQUIRE_DOCUMENT, variables: { resource, owner } });
        return data!.acquireLock.__typename;
      },
      close: async () => {
        watch.unsubscribe();
        client.stop();
        await sockets.dispose();
      },
    };
  });
});
