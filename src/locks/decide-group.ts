import { resourcesOfAll, type Command } from './commands.js';
import type { GroupDecision, GroupState } from './group.js';
import { GroupDecider } from './group-decider.js';
import { NotRead, type Unread } from './lines.js';

/**
 * Decides the commands one after the other, each seeing what those before it did. First it settles what they touch: a
 * passed expiry that is not recorded yet gets its EXPIRED before the first command. Whenever a lock is free, it goes to the
 * first in line, if there is one.
 */
export function decideGroup(state: GroupState, commands: readonly Command[]): GroupDecision {
  const decider = new GroupDecider(state);
  for (const resource of resourcesOfAll(commands)) decider.settle(resource);
  const outcomes = commands.map((command) => decider.decide(command));
  return { outcomes, ...decider.effects };
}

/** The same, unless more has to be read for it. */
export function tryToDecide(state: GroupState, commands: readonly Command[]): GroupDecision | Unread {
  try {
    return decideGroup(state, commands);
  } catch (error) {
    if (error instanceof NotRead) return error.unread;
    throw error;
  }
}
