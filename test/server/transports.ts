import { post, type GraphQLAnswer } from '../support/http-client.js';
import { WebSocketClient } from '../support/websocket-client.js';

/** What a caller is told, whichever way it asks. */
export interface Told {
  /** The code of the first error, or that with which the connection was closed. */
  readonly code: unknown;
  readonly message: string | undefined;
  /** Of HTTP; null: it goes by no status. */
  readonly status: number | null;
  readonly retryAfter: string | null;
}

type Ask = (url: string, query: string, variables?: object) => Promise<Told>;

/** One operation on a connection of its own, and its first result. */
export const TRANSPORTS: Readonly<Record<'HTTP POST' | 'server-sent events' | 'WebSocket', Ask>> = {
  'HTTP POST': async (url, query, variables) => told(await post(url, query, variables)),
  'server-sent events': async (url, query, variables) => {
    const headers = { accept: 'text/event-stream', 'content-type': 'application/json', connection: 'close' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query, variables }) });
    const text = await firstResult(response);
    return told({
      status: response.status,
      headers: response.headers,
      ...(JSON.parse(text) as Pick<GraphQLAnswer, 'data' | 'errors'>),
    });
  },
  WebSocket: async (url, query, variables) => {
    const client = await WebSocketClient.open(url);
    client.subscribe('1', query, variables);
    const message = await Promise.race([client.next(), client.closed]);
    client.socket.terminate();
    await client.closed;
    if ('code' in message) return { code: message.code, message: message.reason, status: null, retryAfter: null };
    const [error] = message.type === 'error' ? message.payload : (message.payload.errors ?? []);
    return { code: error?.extensions.code, message: error?.message, status: null, retryAfter: null };
  },
};

function told({ status, headers, errors }: GraphQLAnswer): Told {
  const [error] = errors ?? [];
  return { code: error?.extensions['code'], message: error?.message, status, retryAfter: headers.get('retry-after') };
}

/** The JSON of the first event, or of an answer that is no stream. */
async function firstResult(response: Response): Promise<string> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response.text();
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const data = /^data: (.*)\n\n/m.exec(text)?.[1];
    if (data !== undefined) return data;
  }
  throw new Error(`The stream has ended without a result: ${text}`);
}
