import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.js';
import { acquireLock } from '../support/http-client.js';
import { addressed, runBash } from './example.js';
import { CODE_BLOCKS, codeBlock, withoutTimes } from './readme.js';

/** Between two answers. */
const END = '--';

describe('the curl commands', () => {
  test('one after the other, give the answers that are shown', async () => {
    const { origin } = await startTestApp();
    const commands = CODE_BLOCKS.filter(({ language, name }) => language === 'bash' && name === 'run');
    expect(commands.length).toBeGreaterThan(3);
    // In one terminal: the later ones use what the earlier ones have kept.
    const shell = runBash(commands.map(({ text }) => addressed(text, origin)).join(`echo; echo '${END}'\n`));
    expect(await shell.exited, await shell.complaints).toBe(0);
    const answers = shell.lines.join('\n').split(END);
    expect(answers.map((answer) => withoutTimes(JSON.parse(answer)))).toEqual(commands.map(({ answer }) => withoutTimes(answer)));
  });

  test('none that needs a token is taken for one that has worked, where none was kept', async () => {
    const { origin } = await startTestApp();
    const needing = CODE_BLOCKS.filter(({ name, text }) => name === 'run' && text.includes('"$token"'));
    expect(needing).toHaveLength(1);
    for (const { text } of needing) {
      const command = runBash(addressed(text, origin));
      expect(await command.exited).toBe(0);
      expect(command.lines.join('')).toContain('BAD_USER_INPUT');
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
