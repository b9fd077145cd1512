import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scriptWithoutLines } from '../locks/scripts.js';
import { startTestApps } from '../support/app.js';
import { ManualTime } from '../support/manual-time.js';
import { isSoak, rounds, timeLimit } from '../support/rounds.js';
import { RETRY_WINDOW_MS } from '../locks/lock-model.js';
import { expectAllInLog, expectLocksToFollowFromLog, expectNoContradiction } from './log-checks.js';
import { alternating } from './lock-api.js';
import { ScriptedClient } from './scripted-client.js';
import { Session } from './session.js';

/** What a shorter script that still fails may take to be found, too. */
const TIME_MS = isSoak ? 600_000 : 15_000;

test.each([
  ['', 1],
  [', by two instances that take turns', 2],
])(
  'any sequence of acquires, releases and renewals is answered, read and told as the simple model says%s',
  { timeout: timeLimit(TIME_MS + 30_000) },
  async (_, instances) => {
    const time = new ManualTime();
    // The model forgets a request at that age; the service remembers it up to its window, that included.
    const apps = await startTestApps(instances, { time, env: { RETRY_WINDOW_MS: String(RETRY_WINDOW_MS - 1) } });
    const sessions = await Promise.all(apps.map(({ url }) => Session.open(url)));
    const [session] = sessions as [Session];
    const api = alternating(sessions.map((each) => each.api));
    let runs = 0;

    await fc.assert(
      fc.asyncProperty(scriptWithoutLines, async (steps) => {
        const prefix = `run:${runs++}/`;
        const client = new ScriptedClient(api, time, prefix);
        const watch = await session.watch({ filter: { prefix }, snapshot: false });
        for (const step of steps) await client.play(step);

        expect(client.answers).toEqual(client.expectedAnswers);
        expect(client.reads).toEqual(client.expectedReads);
        await expectLocksToFollowFromLog(api, { prefix });
        // The sweeper may be at work; a last change comes after whatever it has to say.
        const { revision = '' } = (await api.acquire(`${prefix}end`, 'end')).lock ?? {};
        await watch.reach(revision);
        watch.stop();
        const log = await api.events({ prefix });
        expectNoContradiction(log);
        expectAllInLog(client.acknowledged, log);
        expect(watch.events).toEqual(log.map((event) => ({ __typename: 'LockEvent', ...event })));
      }),
      { numRuns: rounds(1_000), plugins: [fc.interruptAfterTimeLimit(TIME_MS)] },
    );
    expect(runs).toBeGreaterThan(5);
  },
);
