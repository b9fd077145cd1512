import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { acquireLock } from '../support/http-client.js';
import { addressed, runBash } from './example.js';
import { CODE_BLOCKS, codeBlock, withoutTimes } from './readme.js';

describe('the curl commands', () => {
  test('one after the other, give the answers that are shown', async () => {
    const { origin } = await startTestApp();
    const commands = CODE_BLOCKS.filter(({ language, name }) => language === 'bash' && name === 'run');
    expect(commands.length).toBeGreaterThan(3);
    for (const { text, answer } of commands) {
      const command = runBash(addressed(text, origin));
      expect(await command.exited, await command.complaints).toBe(0);
      expect(withoutTimes(JSON.parse(command.lines.join('\n')))).toEqual(withoutTimes(answer));
    }
  });

  test('the first one, sent again as another owner, names the holder', async () => {
    const { origin } = await startTestApp();
    const first = addressed(CODE_BLOCKS.find(({ name }) => name === 'run')?.text ?? '', origin);
    await runBash(first).exited;
    const second = runBash(first.replace('worker-1', 'worker-2'));
    expect(await second.exited).toBe(0);
    expect(second.lines.join('')).toMatch(/"Conflict".*held by .*worker-1/);
  });

  test('the watch shows what is held, and then what changes', async () => {
    const { url, origin } = await startTestApp();
    await acquireLock(url, 'job:1', 'anna');
    const watch = runBash(addressed(codeBlock('bash', 'watch').text, origin));
    await watch.printed(/LockSnapshot.*job:1.*anna/);
    await acquireLock(url, 'job:2', 'bert');
    await watch.printed(/LockEvent.*ACQUIRED.*job:2.*bert/);
  });
});
