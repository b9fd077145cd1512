import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockApi, tokenOf, type Answer } from '../faults/lock-api.js';
import type { RegisterReply, RegisterRequest } from './fenced-register.js';
import { SeededRandom } from './random.js';
import { isNoAnswer, send } from './send.js';

export interface CounterSettings {
  readonly seed: number;
  readonly urls: readonly string[];
  readonly registerUrl: string;
  readonly durationMs: number;
}

const RESOURCE = 'counter';
const TTL_MS = 800;
const PATIENCE_MS = 500;
const WORK_MS = 30;
/** What a holder may take that does not know how late it is. */
const LONG_PAUSE_MS = 2_000;
/** One in so many takes it, the third one first. */
const LONG_PAUSE_EVERY = 8;
const FIRST_LONG_PAUSE = 3;
const PAUSE_MS = 50;

const settings = JSON.parse(process.argv[2] ?? '') as CounterSettings;
const random = new SeededRandom(settings.seed);
let acquisitions = 0;
const owner = `worker ${process.pid}`;

/** Sends it to one instance after the other until it is answered: it must be safe to repeat. */
async function untilAnswered(call: (api: LockApi) => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const url = random.anyOf(settings.urls);
    try {
      return await call(new LockApi((query, variables) => send(url, query, variables, PATIENCE_MS)));
    } catch (error) {
      if (!isNoAnswer(error)) throw error;
      await sleep(random.between(0, PAUSE_MS));
    }
  }
}

async function askRegister(request: RegisterRequest): Promise<number | null> {
  const response = await fetch(settings.registerUrl, { method: 'POST', body: JSON.stringify(request) });
  return ((await response.json()) as RegisterReply).value;
}

/** Adds one under the lock. It trusts the lock alone while it works: it is the register that may know better. */
async function increment(): Promise<void> {
  const requestId = randomUUID();
  const deadline = performance.now() + TTL_MS;
  const acquired = await untilAnswered((api) => api.acquire(RESOURCE, owner, { ttlMs: TTL_MS, requestId }));
  if (acquired.__typename !== 'LockAcquired') {
    await sleep(random.between(0, PAUSE_MS));
    return;
  }
  const token = tokenOf(acquired);
  const isSlow = ++acquisitions % LONG_PAUSE_EVERY === FIRST_LONG_PAUSE;
  const value = await askRegister({ token });
  if (value !== null) await sleep(isSlow ? LONG_PAUSE_MS : random.between(0, WORK_MS));
  const written = value === null ? null : await askRegister({ token, value: value + 1 });
  if (written === null && performance.now() < deadline) throw new Error(`Somebody else got the lock while token ${token} held it`);
  await untilAnswered((api) => api.release(RESOURCE, owner, token));
}

const end = performance.now() + settings.durationMs;
while (performance.now() < end) await increment();
