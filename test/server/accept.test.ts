import { expect, it } from 'vitest';
import { startTestApp } from '../support/app.js';

/** What urql sends with every operation. */
const EVERYTHING =
  'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed';
const QUERY = '{ lock(resource: "r") { id } }';
const SUBSCRIPTION = 'subscription { lockChanges { __typename } }';

async function ask(url: string, method: string, query: string, accept: string): Promise<Response> {
  const headers = { accept, 'content-type': 'application/json' };
  return method === 'GET'
    ? fetch(`${url}?query=${encodeURIComponent(query)}`, { headers })
    : fetch(url, { method, headers, body: JSON.stringify({ query }) });
}

for (const method of ['GET', 'POST']) {
  it(`a query by ${method} from a client that takes everything is answered with JSON`, async () => {
    const { url } = await startTestApp();
    const response = await ask(url, method, QUERY, EVERYTHING);
    expect(response.headers.get('content-type')).toContain('application/graphql-response+json');
    expect(await response.json()).toEqual({ data: { lock: null } });
  });

  it(`a subscription by ${method} from a client that takes everything is answered with a stream of events`, async () => {
    const { url } = await startTestApp();
    const response = await ask(url, method, SUBSCRIPTION, EVERYTHING);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('LockSnapshot')) text += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
  });

  it(`a subscription by ${method} from a client that takes JSON only is told what it needs`, async () => {
    const { url } = await startTestApp();
    const response = await ask(url, method, SUBSCRIPTION, 'application/json');
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject({ errors: [{ message: expect.stringContaining('text/event-stream') as string }] });
  });
}
