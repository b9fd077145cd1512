import { randomUUID } from 'node:crypto';
import { ServerResponse, type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders } from 'node:http';

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** Of every answer, but where it has one of that name itself. Names and values in turn. */
const SECURITY_HEADERS = [
  ...['x-content-type-options', 'nosniff'],
  ...['x-frame-options', 'DENY'],
  ...['referrer-policy', 'no-referrer'],
  ...['cross-origin-resource-policy', 'same-origin'],
  ...['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
];

/** An id that is safe to write into a log and a header. */
const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/;

/** A response with the headers that every answer has, whoever writes it. */
export class Response<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** The caller's, where it gave one that is sane. */
  readonly requestId: string;

  constructor(...made: ConstructorParameters<typeof ServerResponse<Request>>) {
    super(...made);
    const given = this.req.headers['x-request-id'];
    this.requestId = typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
  }

  override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
    const own = typeof reason === 'string' ? headers : reason;
    const common = [...SECURITY_HEADERS, 'x-request-id', this.requestId];
    // Written in one go: each header that is set before costs as much as all of these together.
    if (Array.isArray(own) && this.getHeaderNames().length === 0) return super.writeHead(status, [...common, ...own]);
    for (let at = 0; at < common.length; at += 2) {
      const [name = '', value = ''] = common.slice(at, at + 2);
      if (!this.hasHeader(name)) this.setHeader(name, value);
    }
    return typeof reason === 'string' ? super.writeHead(status, reason, headers) : super.writeHead(status, own);
  }
}
