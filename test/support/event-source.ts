/** A server-sent event, as it came. */
export interface ServerSentEvent {
  readonly event: string;
  /** Of this event, or of the last one before it that had one; empty: none had. */
  readonly lastEventId: string;
  readonly data: string;
}

export interface EventSourceOptions {
  /** Left out: GET, as browsers ask. */
  readonly method?: 'GET' | 'POST';
  readonly variables?: object;
  /** With which the stream before this one ended. */
  readonly lastEventId?: string;
  /** Breaks the stream off at once, also while it is waited for. */
  readonly signal?: AbortSignal;
}

/**
 * Asks for a subscription as a browser's EventSource does, and reads its events until the stream ends.
 *
 * @throws where the stream breaks off, or the answer is none.
 */
export async function* readEvents(url: string, query: string, options: EventSourceOptions = {}): AsyncGenerator<ServerSentEvent> {
  const response = await askForEvents(url, query, options);
  if (!response.ok || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
  let lastEventId = options.lastEventId ?? '';
  let received = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    received += chunk;
    const blocks = received.split('\n\n');
    received = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => [line.split(':', 1)[0], line.replace(/^[^:]*: ?/, '')]));
      lastEventId = fields.get('id') ?? lastEventId;
      const data = fields.get('data');
      if (data !== undefined) yield { event: fields.get('event') ?? 'message', lastEventId, data };
    }
  }
}

function askForEvents(url: string, query: string, { method = 'GET', variables = {}, lastEventId, signal }: EventSourceOptions) {
  const headers = {
    accept: 'text/event-stream',
    connection: 'close',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  const abort = signal === undefined ? {} : { signal };
  if (method === 'POST') {
    const body = JSON.stringify({ query, variables });
    return fetch(url, { method, headers: { ...headers, 'content-type': 'application/json' }, body, ...abort });
  }
  return fetch(`${url}?${new URLSearchParams({ query, variables: JSON.stringify(variables) })}`, { headers, ...abort });
}
