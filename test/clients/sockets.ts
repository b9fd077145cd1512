import { createClient, type Client } from 'graphql-ws';
import { WebSocket } from 'ws';
import { RETRY_MS } from './scenario.js';

/** A client that never gives up, and resends its subscriptions as they are. */
export function connectSocket(url: string): Client {
  return createClient({
    url: url.replace(/^http/, 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: () => new Promise((resolve) => setTimeout(resolve, RETRY_MS)),
  });
}
