import type { ServerResponse } from 'node:http';

/** How long a browser may remember a preflight. */
const PREFLIGHT_SECONDS = '600';

export const ORIGIN_REFUSED = 'This origin is not allowed: the variable ALLOWED_ORIGINS of the service lists those that are';

/** From which pages a browser may call. Requests without an Origin come from programs, which are not bound by it. */
export class OriginPolicy {
  readonly #allowed: ReadonlySet<string>;

  /**
   * @param allowed origins besides the server's own.
   * @param loopbackOnly whether the server listens on loopback alone. Then a Host that is no loopback name isn't its own:
   * a foreign name can be made to resolve to 127.0.0.1 (DNS rebinding).
   */
  constructor(
    allowed: readonly string[],
    readonly loopbackOnly: boolean,
  ) {
    this.#allowed = new Set(allowed);
  }

  allows(origin: string | undefined, host: string | undefined): boolean {
    return origin === undefined || this.#allowed.has(origin) || this.#isOwn(origin, host);
  }

  /** Writes the CORS headers of a listed origin. Without them the browser keeps the answer from the page. */
  writeCorsHeaders(response: ServerResponse, origin: string | undefined): void {
    if (this.#allowed.size > 0) response.setHeader('vary', 'origin');
    if (origin === undefined || !this.#allowed.has(origin)) return;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', 'x-request-id, retry-after');
  }

  /** Answers a preflight. The origin is allowed. */
  answerPreflight(response: ServerResponse): void {
    response.setHeader('access-control-allow-methods', 'GET, POST');
    response.setHeader('access-control-allow-headers', 'content-type, x-request-id, last-event-id');
    response.setHeader('access-control-max-age', PREFLIGHT_SECONDS);
    response.writeHead(204).end();
  }

  #isOwn(origin: string, host: string | undefined): boolean {
    if (host === undefined || (origin !== `http://${host}` && origin !== `https://${host}`)) return false;
    // Both headers are whatever a peer writes, and may name no host at all.
    if (!URL.canParse(origin)) return false;
    return !this.loopbackOnly || isLoopbackName(new URL(origin).hostname);
  }
}

function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
