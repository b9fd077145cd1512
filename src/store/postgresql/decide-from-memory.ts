import type { Command } from '../../locks/commands.js';
import { tryToDecide } from '../../locks/decide-group.js';
import type { GroupDecision } from '../../locks/group.js';
import { RetryMemory } from '../../locks/retries.js';
import type { RememberedState } from './instance-memory.js';

/** Of what a group may refer to in the log, no lookup finds anything. */
export const NOTHING_REMEMBERED = new RetryMemory();

/** What a group comes to by what is remembered; null: too little is, or the database could not tell whether that is true. */
export function decideFromMemory(remembered: RememberedState, commands: readonly Command[]): GroupDecision | null {
  const { revision, now, rows, ticket, standing } = remembered;
  const decision = tryToDecide({ revision, now, rows, retries: NOTHING_REMEMBERED, ticket, standing }, commands);
  return 'outcomes' in decision && isForOneMessage(decision, commands) ? decision : null;
}

function isForOneMessage({ events, joined, left }: GroupDecision, commands: readonly Command[]): boolean {
  // What changes nothing needs no commit: the other way it is one message, too, and no wait for the disk.
  if (events.length + joined.length === 0) return false;
  if (joined.some(({ resources }) => resources.length > 1) || (joined.length > 0 && commands.some(detectsDeadlock))) return false;
  // The database compares who is first in a line, and nobody behind.
  const lastTurns = new Map(left.length === 0 ? [] : events.map(({ resource, waiterId }) => [resource, waiterId]));
  return left.every(({ id, resources: [resource = ''] }) => lastTurns.get(resource) === id);
}

function detectsDeadlock(command: Command): boolean {
  return (command.kind === 'acquire' || command.kind === 'acquire-all') && command.wait?.detectDeadlock === true;
}
