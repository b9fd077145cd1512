import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { readEvents } from '../support/event-source.js';
import { acquireLock } from '../support/http-client.js';
import { expectToComeBack, RETRY_MS, WATCH } from './scenario.js';

test('a stream of events as browsers read one resumes by its last id, and ends with what is true', async () => {
  await expectToComeBack(
    (url, onChange) => {
      let lastEventId = '';
      const closing = new AbortController();
      const { signal } = closing;
      const reading = (async () => {
        while (!signal.aborted) {
          try {
            for await (const event of readEvents(url, WATCH, { lastEventId, signal })) {
              ({ lastEventId } = event);
              onChange(JSON.parse(event.data).data.lockChanges);
            }
          } catch {
            await sleep(RETRY_MS);
          }
        }
      })();
      return {
        acquire: async (resource, owner) => (await acquireLock(url, resource, owner))['__typename'],
        close: async () => {
          closing.abort();
          await reading;
        },
      };
    },
    { resumes: true },
  );
});
