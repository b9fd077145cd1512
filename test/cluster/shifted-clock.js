import { performance } from 'node:perf_hooks';

/**
 * Loaded into a Node process before anything else, it makes that process believe in a wall clock that is wrong by
 * SHIFTED_CLOCK_MS. Clocks that only measure go on as they were.
 */
const offsetMs = Number(process.env.SHIFTED_CLOCK_MS);
const RealDate = Date;
const realNow = Date.now;
const realOrigin = performance.timeOrigin;

RealDate.now = () => realNow() + offsetMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [RealDate.now()] : args, newTarget),
  apply: () => new globalThis.Date().toString(),
});
Object.defineProperty(performance, 'timeOrigin', { get: () => realOrigin + offsetMs });
