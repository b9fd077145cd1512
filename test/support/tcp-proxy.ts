import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export type Direction = 'toServer' | 'toClient';

export interface Stall {
  /** Left out: both. */
  readonly direction?: Direction;
  /** What each connection still carries that way before it stops, so that a message stops in its middle; left out: nothing. */
  readonly afterBytes?: number;
}

interface Target {
  readonly host: string;
  readonly port: number;
}

/** What happens to all that is sent one way. */
interface Road {
  delayMs: number;
  /** Bytes that each connection still carries; Infinity: all of them. */
  budget: number;
}

/** Chunks that wait for their time or for the road to open, at the most: beyond that the sender has to wait. */
const MAX_WAITING_CHUNKS = 64;

/**
 * A network between clients and a server that breaks in the ways in which networks do. It begins as one that works, and is
 * gone when the test is over.
 */
export class TcpProxy {
  #target: Target;
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #roads: Readonly<Record<Direction, Road>> = openRoads(0);
  #refuses = false;
  #losing: { readonly text: string; readonly resetAfterMs: number } | null = null;

  private constructor(target: Target) {
    this.#target = target;
    // Each side may end its half while the other half goes on.
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** @param url names the server's host and port; the rest of it does not matter. */
  static async start(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetOf(url));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    onTestFinished(() => proxy.close());
    return proxy;
  }

  /** The same URL, through the proxy. */
  through(url: string): string {
    const { port } = this.#server.address() as AddressInfo;
    const changed = new URL(url);
    changed.hostname = '127.0.0.1';
    changed.port = String(port);
    return changed.href;
  }

  /** New connections go to another server. */
  leadTo(url: string): void {
    this.#target = targetOf(url);
  }

  get openConnections(): number {
    return this.#links.size;
  }

  /** Works again: what was stalled arrives. */
  pass(): void {
    this.#refuses = false;
    this.#losing = null;
    this.#setRoads(openRoads(0));
  }

  /** Carries everything, later. */
  delay(ms: number): void {
    this.#setRoads(openRoads(ms));
  }

  /** Carries nothing more, and tells nobody: new connections are taken and carry nothing, an end is not passed on. */
  stall({ direction, afterBytes = 0 }: Stall = {}): void {
    const road = (own: Direction): Road => ({
      delayMs: 0,
      budget: direction === undefined || direction === own ? afterBytes : Infinity,
    });
    this.#setRoads({ toServer: road('toServer'), toClient: road('toClient') });
  }

  /**
   * Carries the next message to the server that contains the text, and nothing of the answer; that connection is reset after
   * a while. So the server has done what it was asked, and the client can't know. Other connections work.
   */
  loseAnswerTo(text: string, resetAfterMs: number): void {
    this.#losing = { text, resetAfterMs };
  }

  /** Breaks all connections with a reset. New ones work. */
  cut(): void {
    for (const link of this.#links) link.reset();
  }

  /** Resets new connections as soon as they are made; those that are open go on. */
  refuse(): void {
    this.#refuses = true;
  }

  /** Frees all it has; more than once does no harm. */
  async close(): Promise<void> {
    this.cut();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    if (this.#refuses) {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const link: Link = new Link(client, connect({ ...this.#target, allowHalfOpen: true }), this.#roads, {
      onClosed: () => this.#links.delete(link),
      onSent: (bytes) => this.#loseAnswer(link, bytes),
    });
    this.#links.add(link);
  }

  #loseAnswer(link: Link, bytes: Buffer): void {
    const losing = this.#losing;
    if (losing === null || !bytes.includes(losing.text)) return;
    this.#losing = null;
    link.setRoads({ toServer: openRoad(0), toClient: { delayMs: 0, budget: 0 } });
    setTimeout(() => link.reset(), losing.resetAfterMs);
  }

  #setRoads(roads: Readonly<Record<Direction, Road>>): void {
    this.#roads = roads;
    for (const link of this.#links) link.setRoads(roads);
  }
}

interface LinkEvents {
  readonly onClosed: () => void;
  /** Of what goes to the server, as soon as it goes. */
  readonly onSent: (bytes: Buffer) => void;
}

/** One connection of a client, and the one to the server that belongs to it. */
class Link {
  readonly #lanes: Readonly<Record<Direction, Lane>>;
  readonly #sockets: readonly Socket[];

  constructor(client: Socket, server: Socket, roads: Readonly<Record<Direction, Road>>, { onClosed, onSent }: LinkEvents) {
    this.#sockets = [client, server];
    const toClient = new Lane(server, client, roads.toClient, () => undefined);
    this.#lanes = { toServer: new Lane(client, server, roads.toServer, onSent), toClient };
    for (const socket of this.#sockets) {
      socket.setNoDelay(true);
      socket.once('close', () => {
        if (this.#sockets.every(({ closed }) => closed)) onClosed();
      });
    }
  }

  setRoads(roads: Readonly<Record<Direction, Road>>): void {
    this.#lanes.toServer.setRoad(roads.toServer);
    this.#lanes.toClient.setRoad(roads.toClient);
  }

  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }
}

type Load = { readonly kind: 'chunk'; readonly bytes: Buffer; readonly dueAt: number } | { readonly kind: 'end' | 'reset' };

/** One direction of one connection. */
class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #onCarried: (bytes: Buffer) => void;
  readonly #waiting: Load[] = [];
  #delayMs: number;
  #budget: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, { delayMs, budget }: Road, onCarried: (bytes: Buffer) => void) {
    this.#onCarried = onCarried;
    this.#from = from;
    this.#to = to;
    this.#delayMs = delayMs;
    this.#budget = budget;
    from.on('data', (bytes) => this.#take({ kind: 'chunk', bytes, dueAt: performance.now() + this.#delayMs }));
    from.once('end', () => this.#take({ kind: 'end' }));
    from.on('error', () => this.#take({ kind: 'reset' }));
    to.once('close', () => clearTimeout(this.#timer));
    this.#move();
  }

  setRoad({ delayMs, budget }: Road): void {
    this.#delayMs = delayMs;
    this.#budget = budget;
    this.#move();
  }

  #take(load: Load): void {
    this.#waiting.push(load);
    this.#move();
  }

  #move(): void {
    clearTimeout(this.#timer);
    for (let load = this.#waiting[0]; load !== undefined && this.#budget > 0; load = this.#waiting[0]) {
      if (load.kind === 'chunk') {
        const early = load.dueAt - performance.now();
        if (early > 0) {
          this.#timer = setTimeout(() => this.#move(), early);
          break;
        }
        this.#carry(load);
      } else {
        this.#waiting.shift();
        if (load.kind === 'end') this.#to.end();
        else this.#to.resetAndDestroy();
      }
    }
    // A socket that is not read from does not notice an end or a reset either, which a stalled one must not pass on.
    if (this.#budget === 0 || this.#waiting.length > MAX_WAITING_CHUNKS) this.#from.pause();
    else this.#from.resume();
  }

  /** What the budget does not allow stays. */
  #carry({ kind, bytes, dueAt }: Extract<Load, { kind: 'chunk' }>): void {
    const carried = bytes.subarray(0, this.#budget);
    const rest = bytes.subarray(carried.length);
    this.#budget -= carried.length;
    if (rest.length > 0) this.#waiting[0] = { kind, bytes: rest, dueAt };
    else this.#waiting.shift();
    this.#to.write(carried);
    this.#onCarried(carried);
  }
}

function targetOf(url: string): Target {
  const { hostname, port, protocol } = new URL(url);
  const defaultPort = protocol === 'http:' ? 80 : 5432;
  return { host: hostname, port: port === '' ? defaultPort : Number(port) };
}

function openRoads(delayMs: number): Readonly<Record<Direction, Road>> {
  return { toServer: openRoad(delayMs), toClient: openRoad(delayMs) };
}

function openRoad(delayMs: number): Road {
  return { delayMs, budget: Infinity };
}
