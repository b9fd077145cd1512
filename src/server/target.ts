import type { IncomingMessage } from 'node:http';

/** `http://host:port/path?search`, as a client writes it that believes it talks to a proxy. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#@]+)(\/[^#]*|\?[^#]*|)$/i;

/**
 * Brings a target in absolute form into the usual one. A server must take both, and heed the host of the target instead
 * of the Host header (RFC 9112, 3.2.2). Every other target stays as it is.
 */
export function normaliseTarget(request: IncomingMessage): void {
  if (request.url?.startsWith('/') !== false) return;
  const [, host, rest = ''] = ABSOLUTE_FORM.exec(request.url) ?? [];
  if (host === undefined) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  request.headers.host = host;
}
