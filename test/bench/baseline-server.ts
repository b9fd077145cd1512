import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execute, parse, subscribe, validate, type DocumentNode, type GraphQLSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { createSchema, createYoga } from 'graphql-yoga';
import { WebSocketServer } from 'ws';

/** The API of the service, where nothing is done. */
function noopSchema(): GraphQLSchema {
  const typeDefs = readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8');
  const lock = { fencingToken: '1', expiresAt: '2026-01-01T00:00:00.000Z' };
  const acquireLock = () => ({ __typename: 'LockAcquired', lock });
  const releaseLock = () => ({ __typename: 'LockReleased', revision: '1' });
  return createSchema({ typeDefs, resolvers: { Mutation: { acquireLock, releaseLock } } });
}

/** A JSON echo: what Node's HTTP server can do at all. */
function echo(): Server {
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.stringify({ data: JSON.parse(Buffer.concat(chunks).toString()) as unknown });
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
      response.end(body);
    });
  });
}

/** Yoga as it comes. */
function yoga(): Server {
  const handler = createYoga({ schema: noopSchema(), logging: false });
  return createServer((request, response) => void handler(request, response));
}

/** graphql-ws with documents parsed and validated once. */
function graphqlWs(): Server {
  const schema = noopSchema();
  const documents = new Map<string, DocumentNode>();
  const server = createServer();
  useServer(
    {
      execute,
      subscribe,
      onSubscribe: (_context, _id, { query, variables }) => {
        let document = documents.get(query);
        if (document === undefined) {
          document = parse(query);
          const errors = validate(schema, document);
          if (errors.length > 0) return errors;
          documents.set(query, document);
        }
        return { schema, document, variableValues: variables ?? null };
      },
    },
    new WebSocketServer({ server, path: '/graphql' }),
  );
  return server;
}

const servers: Record<string, () => Server> = { 'node-http': echo, yoga, 'graphql-ws': graphqlWs };
const server = servers[process.argv[2] ?? '']?.();
if (server === undefined) throw new Error(`Name one of ${Object.keys(servers).join(', ')}`);
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`);
});
process.once('SIGTERM', () => process.exit(0));
