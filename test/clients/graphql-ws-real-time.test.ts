import { test } from 'vitest';
import { expectToComeBack, watchThrough } from './scenario.js';
import { connectSocket } from './sockets.js';

test('graphql-ws comes back with a snapshot, and ends with what is true', async () => {
  await expectToComeBack((url, onChange) => watchThrough(connectSocket(url), onChange));
});
