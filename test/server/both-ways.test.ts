import { Agent, request, type IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { ManualTime } from '../support/manual-time.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { post } from '../support/http-client.js';
import { KNOWN_REQUESTS, oddRequests, type OddRequest } from './odd-requests.js';

interface Answer {
  readonly status: number | undefined;
  /** But for Date, sorted: the order of those of different names says nothing (RFC 9110, 5.3). */
  readonly headers: readonly string[];
  readonly body: string;
}

const SEED = 20_260_501;

/** An application, and how to send it requests one after the other on one connection. */
async function startWay(shortWay: boolean) {
  const app = await startTestApp({ shortWay, time: new ManualTime(), env: { ALLOWED_ORIGINS: 'https://app.example' } });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return { app, send: (odd: OddRequest) => send(app, agent, odd) };
}

function send({ url, origin }: TestApp, agent: Agent, { method, search, headers, body, chunked }: OddRequest): Promise<Answer> {
  const raw = [['host', new URL(origin).host], ...headers];
  const hasLength = headers.some(([name]) => name === 'content-length');
  if (body !== null && chunked !== true) raw.push(['content-length', String(body.length)]);
  else if (body !== null && !hasLength) raw.push(['transfer-encoding', 'chunked']);
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${search}`, { method, agent, headers: raw.flat() }, (response) => {
      read(response).then((answer) => {
        if (hasLength) sent.destroy();
        resolve(answer);
      }, reject);
    });
    sent.once('error', reject);
    if (hasLength) sent.write(body);
    else sent.end(body);
  });
}

async function read(response: IncomingMessage): Promise<Answer> {
  const headers: string[] = [];
  for (let at = 0; at < response.rawHeaders.length; at += 2) {
    const [name = '', value = ''] = response.rawHeaders.slice(at, at + 2);
    // Two requests are not answered in the same second for sure, and an id that was made up is no other's.
    if (name.toLowerCase() !== 'date') headers.push(`${name}: ${value.replace(/^[\da-f]{8}-[\da-f-]{27}$/, 'made up')}`);
  }
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += String(chunk);
  return { status: response.statusCode, headers: headers.sort(), body };
}

/** What was counted of requests and operations. */
async function countsOf({ origin }: TestApp): Promise<string[]> {
  const text = await (await fetch(`${origin}/metrics`, { headers: { connection: 'close' } })).text();
  return text
    .split('\n')
    .filter((line) => /^holdfast_(operations|http_requests|commands|faults)_total/.test(line))
    .sort();
}

const LOG = '{ lockEvents(first: 500) { edges { node { type at resource owner fencingToken expiresAt metadata } } } }';

test('what few clients send is answered alike on the short way and on that of Yoga', { timeout: 60_000 }, async () => {
  const [short, yoga] = await Promise.all([startWay(true), startWay(false)]);
  const requests = [...KNOWN_REQUESTS, ...oddRequests(SEED, 1_000)];
  const statuses = new Map<number | undefined, number>();
  const differing: object[] = [];
  for (const odd of requests) {
    const [answer, ofYoga] = await Promise.all([short.send(odd), yoga.send(odd)]);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (!isDeepStrictEqual(answer, ofYoga)) differing.push({ odd: { ...odd, body: odd.body?.toString() }, answer, ofYoga });
  }
  // Telling all of them would take minutes.
  expect([differing.length, ...differing.slice(0, 3)]).toEqual([0]);

  // They did the same, and counted the same; and all kinds of answers were among them.
  expect((await post(short.app.url, LOG)).data).toEqual((await post(yoga.app.url, LOG)).data);
  expect(await countsOf(short.app)).toEqual(await countsOf(yoga.app));
  expect(statuses.get(500)).toBeUndefined();
  for (const status of [200, 204, 400, 403, 405, 406, 413, 415]) expect(statuses.get(status), String(status)).toBeGreaterThan(0);
});
