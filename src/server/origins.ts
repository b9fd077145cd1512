import type { ServerResponse } from 'node:http';
import { isIP } from 'node:net';

export const ORIGIN_REFUSED = 'This origin is not allowed: the variable ALLOWED_ORIGINS of the service lists those that are';
export const HOST_REFUSED = 'The service does not go by this name: the variable ALLOWED_HOSTS lists those that it does';

/** How long a browser may remember a preflight. */
const PREFLIGHT_SECONDS = '600';

/** The name that a Host header names, and perhaps a port: nothing that a URL would read otherwise. */
const HOST = /^([\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

export interface AllowedCallers {
  /** Origins besides the server's own. */
  readonly allowedOrigins: readonly string[];
  /** Names besides localhost and those of the origins, in lower case; none: every one, unless it listens on loopback alone. */
  readonly allowedHosts: readonly string[];
  readonly loopbackOnly: boolean;
}

/** From which pages a browser may call. Requests without an Origin come from programs, which are not bound by it. */
export class OriginPolicy {
  readonly #origins: ReadonlySet<string>;
  readonly #hosts: ReadonlySet<string>;
  readonly #anyHost: boolean;

  constructor({ allowedOrigins, allowedHosts, loopbackOnly }: AllowedCallers) {
    this.#origins = new Set(allowedOrigins);
    this.#hosts = new Set([...allowedHosts, ...allowedOrigins.map((origin) => new URL(origin).hostname)]);
    this.#anyHost = allowedHosts.length === 0 && !loopbackOnly;
  }

  /**
   * Whether the server goes by the name that it is called by. A page of a foreign name, which its owner makes resolve to this
   * server's address (DNS rebinding), is of one origin with it: its browser sends no Origin with a GET, and shows it the answer.
   * No address can be made to resolve to another one. A request that names no host comes from no browser.
   */
  allowsHost(host: string | undefined): boolean {
    if (host === undefined) return true;
    const name = HOST.exec(host)?.[1]?.toLowerCase();
    if (name === undefined || !URL.canParse(`http://${host}`)) return false;
    return this.#anyHost || isIP(name.replace(/^\[|\]$/g, '')) !== 0 || isLocalhost(name) || this.#hosts.has(name);
  }

  /** @param host one that is allowed. */
  allows(origin: string | undefined, host: string | undefined): boolean {
    return origin === undefined || this.#origins.has(origin) || origin === `http://${host}` || origin === `https://${host}`;
  }

  /** Writes the CORS headers of a listed origin. Without them the browser keeps the answer from the page. */
  writeCorsHeaders(response: ServerResponse, origin: string | undefined): void {
    if (this.#origins.size > 0) response.setHeader('vary', 'origin');
    if (origin === undefined || !this.#origins.has(origin)) return;
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
}

/** Browsers resolve these themselves, to loopback. */
function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}
