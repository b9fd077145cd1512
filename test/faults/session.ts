import { WebSocketClient, type Message } from '../support/websocket-client.js';
import { LOCK, LockApi, type Answer, type Reply } from './lock-api.js';
import { Watch, WATCH, type WatchOptions } from './watch.js';

/** The socket closed before the answer came: whether the operation was carried out is unknown. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

const HOLD = `subscription ($input: HoldLockInput!) { update: holdLock(input: $input) {
  __typename ... on LockAcquired { lock { ...L } } ... on LockRenewed { lock { ...L } } } } ${LOCK}`;

export interface HoldInput {
  readonly resource: string;
  readonly owner: string;
  readonly ttlMs: number;
}

type Handler = (message: Message | null) => void;

/** One WebSocket on which any number of operations and watches run at once. */
export class Session {
  readonly api = new LockApi((query, variables) => this.#run(query, variables));
  readonly #client: WebSocketClient;
  readonly #handlers = new Map<string, Handler>();
  #nextId = 0;
  #hasEnded = false;

  private constructor(client: WebSocketClient) {
    this.#client = client;
    void this.#dispatch();
  }

  static async open(url: string): Promise<Session> {
    return new Session(await WebSocketClient.open(url));
  }

  /** Begins to watch; resolves once the server has accepted it and told the first item. */
  async watch(options: WatchOptions = {}): Promise<Watch> {
    const watch = this.startWatch(options);
    await watch.until((items) => items.length > 0);
    return watch;
  }

  /** Asks for a watch, and does not wait for anything. */
  startWatch(options: WatchOptions = {}): Watch {
    const watch: Watch = new Watch(() => {
      this.#handlers.delete(id);
      this.#client.send({ type: 'complete', id });
    });
    const id = this.#start(WATCH, options, (message) => watch.receive(message));
    return watch;
  }

  /** Holds a lock until it is lost; each acquisition and renewal that it is told of goes to `tell`. Rejects where the connection is lost. */
  async hold(input: HoldInput, tell: (update: Answer) => void): Promise<void> {
    if (this.#hasEnded) throw new ConnectionLost();
    await new Promise<void>((resolve, reject) => {
      this.#start(HOLD, { input }, (message) => {
        if (message === null) reject(new ConnectionLost());
        else if (message.type !== 'next') resolve();
        else {
          const { update } = (message.payload as { data: { update: Answer } }).data;
          if (update.lock !== undefined) tell(update);
        }
      });
    });
  }

  /** Ends the connection without a word, as a crash or a broken network does. */
  cut(): void {
    this.#client.socket.terminate();
  }

  #run(query: string, variables: object): Promise<Reply> {
    if (this.#hasEnded) return Promise.reject(new ConnectionLost());
    return new Promise((resolve, reject) => {
      const id = this.#start(query, variables, (message) => {
        if (message === null) reject(new ConnectionLost());
        else if (message.type === 'next') resolve(message.payload as Reply);
        else if (message.type === 'error') resolve({ errors: message.payload as NonNullable<Reply['errors']> });
        if (message?.type !== 'next') this.#handlers.delete(id);
      });
    });
  }

  #start(query: string, variables: object, handler: Handler): string {
    const id = String(this.#nextId++);
    this.#handlers.set(id, handler);
    this.#client.subscribe(id, query, variables);
    return id;
  }

  async #dispatch(): Promise<void> {
    for await (const message of this.#client) this.#handlers.get(message.id ?? '')?.(message);
    this.#hasEnded = true;
    for (const handler of [...this.#handlers.values()]) handler(null);
  }
}
