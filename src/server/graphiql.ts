import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { PATHS } from './paths.js';

/*
 * Arguments are literals: the editor shows no variables for the first tab when the page is opened for the first time.
 * Lines fit into the editor of a window of usual width.
 */
const ACQUIRE = `# Takes the lock, or says who has it.
# Run it again as another owner to see a Conflict.
mutation Acquire {
  acquireLock(
    input: {
      resource: "job:42"
      owner: "worker-1"
      ttlMs: 60000
    }
  ) {
    __typename
    ... on LockAcquired {
      reacquired
      lock {
        resource
        owner
        fencingToken
        expiresAt
        remainingMs
      }
    }
    ... on Conflict {
      message
      reason
      retryAfterMs
    }
  }
}`;

const LOOK = `# One lock, the locks that are held now,
# and what happened lately, newest first.
query Look {
  lock(resource: "job:42") {
    owner
    fencingToken
    acquiredAt
    remainingMs
  }
  locks(filter: { prefix: "job:" }, first: 10) {
    totalCount
    edges { node { resource owner expiresAt } }
  }
  lockEvents(first: 10) {
    edges { node { revision type at resource owner } }
  }
}`;

const WATCH = `# Changes as they happen; first, what is held.
#
# Changing tabs stops this: leave it running, open
# this page in a second browser window, acquire there.
subscription Watch {
  lockChanges(filter: { prefix: "job:" }) {
    __typename
    ... on LockSnapshot {
      revision
      reason
      complete
      locks { resource owner fencingToken expiresAt }
    }
    ... on LockEvent {
      revision
      type
      at
      resource
      owner
      fencingToken
    }
    ... on LockBookmark { revision }
  }
}`;

const RENEW = `# Holds the lock for longer, from now on.
# The fencing token stays.
mutation Renew {
  renewLock(
    input: {
      resource: "job:42"
      owner: "worker-1"
      ttlMs: 120000
    }
  ) {
    __typename
    ... on LockRenewed {
      lock { fencingToken expiresAt remainingMs }
    }
    ... on LockError { message resource }
  }
}`;

const RELEASE = `# Gives the lock back. Only its owner can.
mutation Release {
  releaseLock(
    input: { resource: "job:42", owner: "worker-1" }
  ) {
    __typename
    ... on LockReleased {
      resource
      fencingToken
      releasedAt
      revision
    }
    ... on LockError { message resource }
  }
}`;

const TABS = [ACQUIRE, LOOK, WATCH, RENEW, RELEASE].map((query) => ({ query }));

/** The page of GraphiQL: all of it in one file of several MB, so that it works without the internet. */
export class GraphiqlPage {
  #page: Promise<Page> | null = null;

  /** Whether a browser asks for a page here, and not a client for the answer to a query. */
  isAskedFor(request: IncomingMessage, search: string): boolean {
    return request.method === 'GET' && (request.headers.accept ?? '').includes('text/html') && !/[?&]query=/.test(search);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Made at the first request, once: a server that nobody looks at does without it.
    const page = await (this.#page ??= renderPage());
    response.setHeader('content-security-policy', page.policy);
    response.setHeader('etag', page.etag);
    response.setHeader('cache-control', 'no-cache');
    response.appendHeader('vary', 'accept, accept-encoding');
    if (request.headers['if-none-match'] === page.etag) {
      response.writeHead(304).end();
      return;
    }
    const isZipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    if (isZipped) response.setHeader('content-encoding', 'gzip');
    const body = isZipped ? page.zipped : page.plain;
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': body.length }).end(body);
  }
}

/**
 * GraphiQL leaves the tabs of a first visit with a stale shift, and lets it take effect on the tab that gets the focus:
 * so the tab jumps away from under the pointer, and the click is lost.
 */
const KEEP_TABS_IN_PLACE = '<style>.graphiql-tab { transform: none !important; }</style>';

interface Page {
  readonly plain: Buffer;
  readonly zipped: Buffer;
  readonly etag: string;
  readonly policy: string;
}

async function renderPage(): Promise<Page> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const options = { endpoint: PATHS.graphql, title: 'Holdfast', subscriptionsProtocol: 'WS', defaultTabs: TABS } as const;
  const html = renderGraphiQL(options).replace('</head>', `${KEEP_TABS_IN_PLACE}</head>`);
  const plain = Buffer.from(html);
  const digest = sha256(html);
  return { plain, zipped: await promisify(gzip)(plain), etag: `"${digest}"`, policy: contentPolicy(html) };
}

/** Nothing but this page's own script runs, and it talks to this server alone. */
function contentPolicy(html: string): string {
  const start = html.indexOf('<script>') + '<script>'.length;
  const script = html.slice(start, html.lastIndexOf('</script>'));
  return [
    "default-src 'none'",
    `script-src 'sha256-${sha256(script)}' blob:`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    'font-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
