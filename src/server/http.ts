import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { badUserInput } from '../graphql/errors.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';
import { acceptedTypes, JSON_TYPE, MEDIA_TYPES } from './accept.js';
import { endConnectionWith, isOver, pendingAnswer, watchAnswers } from './answer-order.js';
import { answerBrokenRequests } from './broken-requests.js';
import type { Connections } from './connections.js';
import type { MaskError } from './errors.js';
import { EventStreams } from './event-streams.js';
import { askForBodies } from './expected-continue.js';
import type { GraphiqlPage } from './graphiql.js';
import type { Health } from './health.js';
import { answerJsonPost } from './json-post.js';
import { closeIfUnread, send, sendFailure, sendRefusal } from './json-response.js';
import type { ServerLimits } from './limits.js';
import { lingerOnClose } from './lingering-close.js';
import { onceClosed } from './once-closed.js';
import type { Operations } from './operations.js';
import { HOST_REFUSED, ORIGIN_REFUSED, type OriginPolicy } from './origins.js';
import { isKnownPath, PATHS, type Path } from './paths.js';
import type { PeerWatch } from './peer-watch.js';
import { takeBody, type ReadRequest } from './request-body.js';
import { ServiceResponse } from './service-response.js';
import { normaliseTarget } from './target.js';
import type { YogaHandler } from './yoga.js';

export interface HttpOptions {
  readonly operations: Operations;
  readonly limits: ServerLimits;
  readonly maskError: MaskError;
  readonly origins: OriginPolicy;
  readonly health: Health;
  readonly connections: Connections;
  readonly peers: PeerWatch;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** null: there is no page. */
  readonly graphiql: GraphiqlPage | null;
  /** Whether a POST of JSON takes the short way; false: everything takes Yoga's. */
  readonly shortWay: boolean;
}

/** A peer that takes longer to send its headers, or its whole request, holds a connection for nothing. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How late a connection may be found to have taken too long. */
const TIMEOUT_CHECK_MS = 5_000;
/** Longer than the 60 s after which usual load balancers let go: the side that lets go second never cuts a request off. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/**
 * After so long without traffic the system asks whether the peer is still there, and again each second: ten questions without
 * an answer end the connection, and what is under way for it.
 */
const PROBE_AFTER_MS = 15_000;

/**
 * Connections that are idle as the shutdown begins stay open for so long: a request may be on its way on each, and gets an
 * answer that says so, where a connection that is cut would leave its client to guess whether it was done.
 */
const IDLE_GRACE_MS = 200;

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };

/** The HTTP side of the server. It does not listen yet, and leaves upgrades to others. */
export class HttpServer {
  readonly server: Server<typeof IncomingMessage, typeof ServiceResponse>;
  readonly #options: HttpOptions;
  readonly #streams: EventStreams;
  /** Loaded by the first request that needs it: it is half of all the files that a start would load. */
  #yoga: Promise<YogaHandler> | null = null;
  readonly #unanswered = new Set<ServerResponse>();
  /** Resolves when it has stopped listening and no connection is left. */
  readonly #closed: Promise<unknown>;
  #shuttingDown = false;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#streams = new EventStreams(options.limits.eventStreams, (open) => options.metrics.eventStreams(open));
    this.server = createServer(
      {
        headersTimeout: HEADERS_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
        keepAlive: true,
        keepAliveInitialDelay: PROBE_AFTER_MS,
        ServerResponse: ServiceResponse,
        // Node would answer these by itself, and go on with what comes behind them.
        requireHostHeader: false,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      },
      (request, response) => {
        if (isOver(request.socket)) return;
        // What is left unhandled would end the process, with everybody else's requests.
        this.#answer(request, response).catch((error: unknown) => {
          options.logger.error({ err: error }, 'a request could not be answered');
          response.destroy();
        });
      },
    );
    // Their bytes are limited. What an ignored upgrade is parsed from once more must have all of them.
    this.server.maxHeadersCount = 0;
    options.connections.count(this.server);
    lingerOnClose(this.server);
    watchAnswers(this.server);
    answerBrokenRequests(this.server);
    askForBodies(this.server);
    this.#closed = new Promise((resolve) => this.server.once('close', resolve));
  }

  /** Takes no new connections, and lets go of each one as soon as its request is answered. */
  stopListening(): void {
    this.#shuttingDown = true;
    for (const response of this.#unanswered) {
      // Its connection ends behind it: only the last of those on one may say so.
      const isLast = pendingAnswer(response.req.socket) === response;
      if (isLast && !response.headersSent) endConnectionWith(response);
    }
    // What http adds to it is that idle connections are cut at once.
    NetServer.prototype.close.call(this.server);
  }

  /** Resolves when idle connections are let go and every request but the streams is answered, or when the time is up. */
  async drain(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    await Promise.race([this.#closed, delayUntil(Math.min(deadline, performance.now() + IDLE_GRACE_MS))]);
    this.server.closeIdleConnections();
    const answered = [...this.#unanswered].filter((response) => !isStream(response)).map(closed);
    await Promise.race([Promise.all(answered), delayUntil(deadline)]);
  }

  /** Ends what is left: streams break off without a last word, which is how their clients know to resume. */
  closeConnections(): void {
    this.server.closeAllConnections();
    // It has closed already; http keeps a timer besides, until it is told so itself.
    this.server.close();
  }

  async #answer(request: IncomingMessage, response: ServiceResponse): Promise<void> {
    normaliseTarget(request);
    const { url = '/', method = 'GET' } = request;
    const [path = '/'] = url.split('?', 1);
    if (this.#shuttingDown || this.#options.connections.isSpare(request.socket)) endConnectionWith(response);

    this.#unanswered.add(response);
    onceClosed(response, () => {
      this.#unanswered.delete(response);
      // Until an answer is begun the status code is only what it would be by default.
      const status = response.headersSent ? response.statusCode : 'aborted';
      this.#options.metrics.request(isKnownPath(path) ? path : 'other', status);
      this.#options.logger.debug({ requestId: response.requestId, method, path, status }, 'request');
    });
    try {
      await this.#route(path, url.slice(path.length), request, response);
    } catch (error) {
      if (!response.headersSent && !response.destroyed) {
        sendFailure(response, this.#options.maskError(error));
      } else {
        response.destroy();
      }
    }
  }

  #route(path: string, search: string, request: IncomingMessage, response: ServerResponse): Promise<void> | void {
    const tooMany = this.#options.connections.refusalOf(request.socket, path);
    if (tooMany !== null) {
      sendRefusal(response, JSON_TYPE, [tooMany]);
    } else if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      refuse(response, 400, 'A request of HTTP/1.1 must have a Host');
    } else if (!this.#options.origins.allowsHost(request.headers.host)) {
      // RFC 9110, 15.5.20: the server is not the one that the request is meant for.
      if (path === PATHS.graphql) refuse(response, 421, HOST_REFUSED);
      else text(response, 421, HOST_REFUSED);
    } else if (!isKnownPath(path)) {
      text(response, 404, `Not found: GraphQL is at ${PATHS.graphql}`);
    } else if (path === PATHS.graphql) {
      return this.#graphql(search, request, response);
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      text(response, 405, 'Method not allowed');
    } else {
      return this.#operate(path, response);
    }
  }

  /** What those who run the server ask for. */
  async #operate(path: Exclude<Path, typeof PATHS.graphql>, response: ServerResponse): Promise<void> {
    const { health, metrics } = this.#options;
    switch (path) {
      case PATHS.live:
        text(response, 200, 'alive');
        break;
      case PATHS.ready: {
        const reason = await health.unreadyBecause();
        text(response, reason === null ? 200 : 503, reason ?? 'ready');
        break;
      }
      case PATHS.metrics: {
        const body = await metrics.text();
        response.writeHead(200, { 'content-type': metrics.contentType }).end(body);
        break;
      }
    }
  }

  #graphql(search: string, request: IncomingMessage, response: ServerResponse): Promise<void> | void {
    const { origins, graphiql } = this.#options;
    const { origin, host, 'content-type': contentType } = request.headers;
    origins.writeCorsHeaders(response, origin);
    if (!origins.allows(origin, host)) {
      refuse(response, 403, ORIGIN_REFUSED);
    } else if (request.method === 'OPTIONS') {
      origins.answerPreflight(response);
    } else if (request.method !== 'POST' && request.method !== 'GET') {
      response.setHeader('allow', 'GET, POST');
      refuse(response, 405, 'GraphQL takes GET and POST');
    } else if (request.method === 'POST' && !isJson(contentType)) {
      // A page of another site can send every other type without asking first (a preflight).
      refuse(response, 415, 'The body must be application/json in UTF-8');
    } else if (graphiql?.isAskedFor(request, search) === true) {
      return graphiql.answer(request, response);
    } else {
      return this.#runOperation(request, response);
    }
  }

  async #runOperation(request: ReadRequest, response: ServerResponse): Promise<void> {
    const accepted = acceptedTypes(request.headers.accept);
    const [mediaType] = accepted;
    if (mediaType === undefined) {
      refuse(response, 406, `Accept must take one of ${MEDIA_TYPES.join(', ')}`);
      return;
    }
    const { operations, limits, shortWay } = this.#options;
    if (request.method === 'POST' && !(await takeBody(request, response, mediaType, limits.messageBytes))) return;
    if (shortWay && request.body !== undefined && (await answerJsonPost(request.body, mediaType, response, operations))) return;
    const yoga = await (this.#yoga ??= this.#loadYoga());
    await yoga.handle(request, response, { accepted });
  }

  async #loadYoga(): Promise<YogaHandler> {
    const { createYogaHandler } = await import('./yoga.js');
    return createYogaHandler({ ...this.#options, streams: this.#streams });
  }
}

function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/(graphql\+)?json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType);
}

function isStream(response: ServerResponse): boolean {
  return String(response.getHeader('content-type')).startsWith('text/event-stream');
}

function refuse(response: ServerResponse, status: number, message: string): void {
  endConnectionWith(response);
  send(response, status, JSON_TYPE, { errors: [badUserInput(null, message)] });
}

function text(response: ServerResponse, status: number, message: string): void {
  closeIfUnread(response);
  response.writeHead(status, TEXT).end(`${message}\n`);
}

async function closed(response: ServerResponse): Promise<void> {
  if (response.closed) return;
  await new Promise<void>((resolve) => onceClosed(response, resolve));
}

async function delayUntil(deadline: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, deadline - performance.now())).unref());
}
