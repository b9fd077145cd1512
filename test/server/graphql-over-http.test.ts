import { serverAudits } from 'graphql-http';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { shared } from '../support/shared.js';

describe('the specification GraphQL over HTTP', () => {
  const app = shared(() => startTestApp());
  // The address is asked for by each audit as it runs.
  let url = '';
  const audits = serverAudits({ url: () => url, fetchFn: fetch });

  test.each(audits.map((audit) => [audit.name, audit] as const))('%s', async (_, audit) => {
    url = (await app()).url;
    const result = await audit.fn();
    // The answer that came is on the result; an unread one would keep its connection.
    if ('response' in result && !result.response.bodyUsed) await result.response.body?.cancel();
    expect(result).toMatchObject({ status: 'ok' });
  });
});
