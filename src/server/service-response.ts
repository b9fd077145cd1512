import { randomUUID } from 'node:crypto';
import { ServerResponse, type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders } from 'node:http';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** The same, names and values in turn. */
const SECURITY_LIST = Object.entries(SECURITY_HEADERS).flat();

/** What every answer says. */
export function commonHeaders(requestId: string): Readonly<Record<string, string>> {
  return { ...SECURITY_HEADERS, 'x-request-id': requestId };
}

/** An id that is safe to write into a log and a header. */
const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/;

/** A response with the headers that every answer has, whoever writes it, unless a header of that name was set before. */
export class ServiceResponse<Asked extends IncomingMessage = IncomingMessage> extends ServerResponse<Asked> {
  /** The caller's, where it gave one that is sane. */
  readonly requestId: string;

  constructor(...made: ConstructorParameters<typeof ServerResponse<Asked>>) {
    super(...made);
    const given = this.req.headers['x-request-id'];
    this.requestId = typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
  }

  /**
   * A list of headers is written in one go with the others, where none was set before: setting them one by one takes as long as
   * all else of the head. It must not name any of the others, and `getHeader` knows nothing of what is in it.
   */
  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const own = typeof reason === 'string' ? headers : reason;
    if (Array.isArray(own) && this.getHeaderNames().length === 0) {
      return super.writeHead(status, [...SECURITY_LIST, 'x-request-id', this.requestId, ...own]);
    }
    for (const [name, value] of Object.entries(commonHeaders(this.requestId))) {
      if (!this.hasHeader(name)) this.setHeader(name, value);
    }
    return typeof reason === 'string' ? super.writeHead(status, reason, headers) : super.writeHead(status, own);
  }
}
