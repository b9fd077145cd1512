import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ExecutionArgs, GraphQLError } from 'graphql';
import { CloseCode, handleProtocols, makeServer, MessageType, stringifyMessage, type Server as ProtocolServer } from 'graphql-ws';
import { WebSocket, WebSocketServer } from 'ws';
import { ReadTurns } from '../engine/read-turns.js';
import { badUserInput } from '../graphql/errors.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';
import { behindAnswers } from './answer-order.js';
import type { Connections } from './connections.js';
import { Delivery, isStream, type Recipient } from './delivery.js';
import { limitExceeded, notBegun, statusOfRefusal } from './errors.js';
import type { ServerLimits } from './limits.js';
import { OperationIds } from './operation-ids.js';
import type { Operations, PreparedOperation } from './operations.js';
import { HOST_REFUSED, ORIGIN_REFUSED, type OriginPolicy } from './origins.js';
import { PATHS } from './paths.js';
import type { Connection as TcpConnection, PeerWatch } from './peer-watch.js';
import { refuseRaw, type RawRefusal } from './raw-refusal.js';
import { Socket } from './socket.js';
import { SocketCaller } from './socket-caller.js';
import { normaliseTarget } from './target.js';
import { asksForWebSocket, ignoreUpgrade } from './upgrade.js';

export interface WebSocketOptions {
  readonly operations: Operations;
  readonly limits: ServerLimits;
  readonly origins: OriginPolicy;
  readonly connections: Connections;
  readonly peers: PeerWatch;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** RFC 6455, 7.4.1: the server is going away. Clients reconnect. */
const GOING_AWAY = 1001;

/** RFC 6455, 7.4.1: a type of data that is not taken. */
const UNSUPPORTED_DATA = 1003;

/** It is told how long it had. */
const INIT_TIMED_OUT: number = CloseCode.ConnectionInitialisationTimeout;

/** RFC 6455, 5.5: what a control frame holds, less the code. */
const MAX_REASON_BYTES = 123;

/** How long a peer may take to answer a close before its connection is cut. */
const CLOSE_TIMEOUT_MS = 1_000;

/** RFC 6455, 7.4.1: a message that is too big. */
const TOO_BIG = 1009;

/** Not a literal in the call: the types of ws do not know `closeTimeout` yet. */
const socketOptions = ({ messageBytes }: ServerLimits) => ({
  noServer: true,
  maxPayload: messageBytes,
  WebSocket: class extends WebSocket {
    override close(code?: number, reason?: string | Buffer): void {
      super.close(code, code === TOO_BIG ? `A message may have at most ${messageBytes} bytes` : reason);
    }
  },
  // A small compressed frame may inflate to a large one.
  perMessageDeflate: false,
  closeTimeout: CLOSE_TIMEOUT_MS,
  handleProtocols: (offered: Set<string>) => handleProtocols(offered),
});

/** What is known of one connection besides the protocol's own state. */
interface Connection extends Recipient {
  readonly turns: ReadTurns;
  /** Messages being worked on: an operation counts from its subscribe to its complete. */
  underWay: number;
  closed: boolean;
  /** null: no message has come yet. */
  ids: OperationIds | null;
}

/** graphql-transport-ws, on the HTTP server's upgrades. */
export class WebSocketTransport {
  readonly #options: WebSocketOptions;
  readonly #protocol: ProtocolServer<Connection>;
  readonly #sockets: WebSocketServer;
  #closing = false;

  constructor(server: Server, options: WebSocketOptions) {
    this.#options = options;
    this.#protocol = makeServer(protocolOptions(options));
    this.#sockets = new WebSocketServer(socketOptions(options.limits));
    server.on('upgrade', (request, socket, head) => {
      behindAnswers(socket, () => this.#takeOver(server, request, socket, head));
    });
  }

  /** Closes every socket as going away; cuts those that do not answer. */
  async close(): Promise<void> {
    this.#closing = true;
    const open = [...this.#sockets.clients];
    const closed = open.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    for (const socket of open) socket.close(GOING_AWAY, 'Going away');
    await Promise.all(closed);
  }

  #takeOver(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    try {
      if (asksForWebSocket(request)) this.#upgrade(request, socket, head);
      else ignoreUpgrade(server, request, socket, head);
    } catch (error) {
      // What a listener throws would end the process, with everybody else's connections.
      this.#options.logger.error({ err: error }, 'an upgrade failed');
      socket.destroy();
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    normaliseTarget(request);
    const refusal = this.#refusalOf(request, socket);
    if (refusal !== null) {
      refuseRaw(socket, refusal);
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (opened) => this.#open(opened, socket as Duplex & TcpConnection));
  }

  #refusalOf(request: IncomingMessage, socket: Duplex): RawRefusal | null {
    const { origins, limits, connections } = this.#options;
    const { origin, host } = request.headers;
    if (!origins.allowsHost(host)) return { status: 421, error: badUserInput(null, HOST_REFUSED) };
    if (request.url?.split('?', 1)[0] !== PATHS.graphql) {
      return { status: 404, error: badUserInput(null, `Not found: GraphQL is at ${PATHS.graphql}`) };
    }
    if (!origins.allows(origin, host)) return { status: 403, error: badUserInput(null, ORIGIN_REFUSED) };
    if (this.#closing) return unavailable(notBegun('The server is shutting down'));
    const tooMany = connections.refusalOf(socket, PATHS.graphql);
    if (tooMany !== null) return unavailable(tooMany);
    if (this.#sockets.clients.size < limits.sockets) return null;
    return unavailable(
      notBegun(`The server may have at most ${limits.sockets} WebSockets open, and has as many: try another instance`),
    );
  }

  #open(webSocket: WebSocket, tcp: Duplex & TcpConnection): void {
    const { metrics, logger, peers } = this.#options;
    const socket = new Socket(webSocket, tcp, peers);
    const connection: Connection = { socket, streams: new Set(), turns: new ReadTurns(), underWay: 0, closed: false, ids: null };
    metrics.sockets(this.#sockets.clients.size);
    // A frame that is too large or broken: ws closes the socket with the code that says so.
    webSocket.on('error', (error) => logger.debug({ err: error }, 'websocket error'));

    const closed = this.#protocol.opened(
      {
        protocol: webSocket.protocol,
        send: (data) => socket.send(data),
        close: (code, reason = '') => webSocket.close(code, this.#reasonFor(code, reason)),
        onPing: (payload) => {
          const pong = pongWith(payload);
          if (pong === null) webSocket.close(CloseCode.BadRequest, 'The payload of a ping is nested too deeply');
          else return socket.send(pong);
        },
        onMessage: (handle) => {
          const ids = (connection.ids = new OperationIds(handle));
          webSocket.on('message', (data: Buffer, isBinary) => this.#take(data, isBinary, webSocket, connection, ids));
        },
      },
      connection,
    );
    webSocket.once('close', (code, reason) => {
      connection.closed = true;
      metrics.sockets(this.#sockets.clients.size);
      // Async: what is thrown becomes a rejection, for the one catch.
      const ended = [...connection.streams].map(async (stream) => stream.return());
      Promise.all([...ended, closed(code, reason.toString())]).catch((error: unknown) => {
        logger.error({ err: error }, 'a stream of a closed websocket did not end');
      });
    });
  }

  #reasonFor(code: number | undefined, reason: string): string {
    if (code === INIT_TIMED_OUT) return `connection_init must come within ${this.#options.limits.initTimeoutMs} ms`;
    // It may quote what the client sent, of any length.
    return Buffer.byteLength(reason) > MAX_REASON_BYTES ? '' : reason;
  }

  #take(data: Buffer, isBinary: boolean, socket: WebSocket, connection: Connection, ids: OperationIds): void {
    // Of text ws has checked that it is UTF-8. Of bytes that are not, names that differ would be read as one.
    if (isBinary) {
      socket.close(UNSUPPORTED_DATA, 'Messages must be text');
      return;
    }
    const { operationsPerSocket } = this.#options.limits;
    if (ids.waiting > operationsPerSocket) {
      socket.close(CloseCode.BadRequest, `At most ${operationsPerSocket} messages may wait for the end of an operation`);
      return;
    }
    connection.underWay += 1;
    ids.take(data.toString()).then(
      () => {
        connection.underWay -= 1;
      },
      (error: unknown) => this.#fail(socket, connection, error),
    );
  }

  #fail(socket: WebSocket, connection: Connection, error: unknown): void {
    connection.underWay -= 1;
    // graphql-ws throws where a client sends a message that only servers send; it is the client's mistake.
    if (error instanceof Error && error.message.startsWith('Unexpected message of type')) {
      socket.close(CloseCode.BadRequest, 'Invalid message received');
      return;
    }
    this.#options.logger.error({ err: error }, 'a websocket message failed');
    socket.close(CloseCode.InternalServerError, 'Internal server error');
  }
}

/** null: it is nested more deeply than can be written, though it could be read. Writing JSON takes stack, reading it does not. */
function pongWith(payload: Record<string, unknown> | undefined): string | null {
  try {
    return stringifyMessage({ type: MessageType.Pong, ...(payload && { payload }) });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function unavailable(error: GraphQLError): RawRefusal {
  return { ...statusOfRefusal([error]), error };
}

function protocolOptions({
  operations,
  limits,
}: WebSocketOptions): Parameters<typeof makeServer<Record<string, unknown>, Connection>>[0] {
  return {
    connectionInitWaitTimeout: limits.initTimeoutMs,
    // Refusals are returned: a throw would close the whole socket with 4500, on which clients give up.
    onSubscribe(context, id, { query, operationName, variables }) {
      const { extra } = context;
      extra.ids?.begins(id);
      if (extra.underWay > limits.operationsPerSocket) {
        return [limitExceeded(`A connection may have at most ${limits.operationsPerSocket} operations under way`)];
      }
      return operations.prepare({ query, operationName, variables, caller: new SocketCaller(context, id) }, 'websocket');
    },
    // What onSubscribe prepared comes back here.
    execute: (args: ExecutionArgs) => operations.execute(args as PreparedOperation),
    subscribe: (args: ExecutionArgs) => operations.subscribe(args as PreparedOperation),
    async onOperation({ extra }, id, _payload, _args, result) {
      if (!isStream(result)) return;
      if (extra.closed) await result.return();
      else return new Delivery(result, id, extra);
    },
  };
}
