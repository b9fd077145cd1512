import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildSchema, execute, parse, subscribe, validate, type DocumentNode } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { createSchema, createYoga } from 'graphql-yoga';
import { WebSocketServer } from 'ws';

const typeDefs = 'type Query { ok: Boolean! } type Mutation { noop(resource: String!, owner: String!): Boolean! }';
const noop = () => true;

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

/** Yoga as it comes, with a mutation that does nothing. */
function yoga(): Server {
  const schema = createSchema({ typeDefs, resolvers: { Query: { ok: noop }, Mutation: { noop } } });
  const handler = createYoga({ schema, logging: false });
  return createServer((request, response) => void handler(request, response));
}

/** graphql-ws with documents parsed and validated once, and a mutation that does nothing. */
function graphqlWs(): Server {
  const schema = buildSchema(typeDefs);
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
        return { schema, document, variableValues: variables ?? null, rootValue: { noop } };
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
