import { serverAudits } from 'graphql-http';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';

test.each([
  ['the short way', true],
  ["Yoga's way", false],
])('all that the specification GraphQL over HTTP asks for is so on %s', async (_, shortWay) => {
  const { url } = await startTestApp({ shortWay });
  const failed: object[] = [];
  const audits = serverAudits({ url, fetchFn: fetch });
  for (const audit of audits) {
    const result = await audit.fn();
    // The answer that came is on the result; an unread one would keep its connection.
    if ('response' in result && !result.response.bodyUsed) await result.response.body?.cancel();
    if (result.status !== 'ok') failed.push({ audit: audit.name, ...result });
  }
  expect(failed).toEqual([]);
  expect(audits.length).toBeGreaterThan(50);
});
