import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { EngineObserver } from '../engine/observer.js';

/** From a command in memory to a slow disk: seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const WAIT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const MS_PER_SECOND = 1000;

export type Transport = 'http' | 'sse' | 'websocket';

/** All metrics of one server. It is told what happens, and returns at once from every call. */
export class Metrics implements EngineObserver {
  readonly #registry = new Registry();

  readonly #commands = this.#counter('commands_total', 'Commands that were answered', ['kind', 'outcome']);
  readonly #failures = this.#counter('failures_total', 'Groups and background work that failed', []);
  readonly #groupSize = this.#histogram('group_commands', 'Commands in one transaction', GROUP_SIZES);
  readonly #commitTime = this.#histogram('commit_seconds', 'Time of one transaction', SECONDS);
  readonly #eventLag = this.#histogram('event_lag_seconds', 'Time from the write of an event to the feed', SECONDS);
  readonly #watchers = this.#gauge('watchers', 'Watches that are open');
  readonly #waiting = this.#gauge('waiting_calls', 'Calls that stand in line at this instance');
  readonly #waited = this.#histogram('waited_seconds', 'Time in line, by how it ended', WAIT_SECONDS, ['end']);
  readonly #handOver = this.#histogram('hand_over_seconds', 'Time from the write of a turn in line to its answer', SECONDS);
  readonly #operations = this.#counter('operations_total', 'GraphQL operations', ['type', 'transport', 'result']);
  readonly #documentHits = this.#counter('document_cache_hits_total', 'Operations whose document was known already', []);
  readonly #documentMisses = this.#counter('document_cache_misses_total', 'Operations whose document had to be read', []);
  readonly #shed = this.#counter('operations_shed_total', 'Operations refused because as many were under way as may be', []);
  readonly #faults = this.#counter('faults_total', 'Faults of the server itself, which callers see by their id alone', []);
  readonly #connections = this.#gauge('connections', 'Connections that are open, but for those that were too many');
  readonly #connectionsRefused = this.#counter('connections_refused_total', 'Connections that were too many', []);
  readonly #sockets = this.#gauge('websockets', 'WebSockets that are open');
  readonly #eventStreams = this.#gauge('event_streams', 'Streams of server-sent events that are open');
  readonly #requests = this.#counter('http_requests_total', 'HTTP requests, answered or aborted', ['path', 'status']);

  readonly #logFailure: (error: unknown) => void;

  /**
   * @param countHeld asked at each scrape; where it fails the gauge says NaN.
   * @param logFailure told what a number can't say: why the engine failed. Left out: nobody is.
   */
  constructor(countHeld: () => Promise<number>, logFailure: (error: unknown) => void = () => undefined) {
    this.#logFailure = logFailure;
    new Gauge({
      name: 'holdfast_locks_held',
      help: 'Locks that are held now',
      registers: [this.#registry],
      async collect() {
        this.set(await countHeld().catch(() => NaN));
      },
    });
    collectDefaultMetrics({ register: this.#registry });
  }

  readonly contentType = this.#registry.contentType;

  /** All metrics as Prometheus text. */
  async text(): Promise<string> {
    return this.#registry.metrics();
  }

  decided: EngineObserver['decided'] = (command, outcome) => {
    this.#commands.inc({ kind: command.kind, outcome: outcome.kind === 'conflict' ? `conflict:${outcome.reason}` : outcome.kind });
  };

  committed: EngineObserver['committed'] = (commands, commitMs) => {
    this.#groupSize.observe(commands);
    this.#commitTime.observe(commitMs / MS_PER_SECOND);
  };

  failed: EngineObserver['failed'] = (error) => {
    this.#failures.inc();
    this.#logFailure(error);
  };

  published: EngineObserver['published'] = (lagMs) => this.#eventLag.observe(lagMs / MS_PER_SECOND);

  watchers: EngineObserver['watchers'] = (count) => this.#watchers.set(count);

  waiting: EngineObserver['waiting'] = (count) => this.#waiting.set(count);

  handedOver: EngineObserver['handedOver'] = (lagMs) => this.#handOver.observe(lagMs / MS_PER_SECOND);

  waited: EngineObserver['waited'] = (end, waitedMs) => this.#waited.observe({ end }, waitedMs / MS_PER_SECOND);

  operation(type: string, transport: Transport, result: 'ok' | 'error'): void {
    this.#operations.inc({ type, transport, result });
  }

  /** @param wasKnown whether it was in the cache */
  document(wasKnown: boolean): void {
    (wasKnown ? this.#documentHits : this.#documentMisses).inc();
  }

  shed(): void {
    this.#shed.inc();
  }

  fault(): void {
    this.#faults.inc();
  }

  connections(count: number): void {
    this.#connections.set(count);
  }

  connectionRefused(): void {
    this.#connectionsRefused.inc();
  }

  sockets(count: number): void {
    this.#sockets.set(count);
  }

  eventStreams(count: number): void {
    this.#eventStreams.set(count);
  }

  request(path: string, status: number | 'aborted'): void {
    this.#requests.inc({ path, status });
  }

  #counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    return new Counter({ name: `holdfast_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #gauge(name: string, help: string): Gauge {
    return new Gauge({ name: `holdfast_${name}`, help, registers: [this.#registry] });
  }

  #histogram<L extends string = never>(name: string, help: string, buckets: number[], labelNames: readonly L[] = []): Histogram<L> {
    return new Histogram({ name: `holdfast_${name}`, help, buckets, labelNames, registers: [this.#registry] });
  }
}
