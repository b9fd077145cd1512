import type { Command } from '../locks/commands.js';

/** A place in line, if that waiter still has it. */
export interface NamedPlace {
  readonly resource: string;
  readonly ticket: bigint;
  readonly waiterId: string;
}

/** A call that may stand in line already: under this id, or under its requestId. */
export interface RepeatedCall {
  readonly owner: string;
  readonly requestId: string | null;
  readonly waiterId: string;
}

/** What a store has to look up of those who stand in line, besides the lines themselves. */
export interface WaiterLookups {
  readonly places: readonly NamedPlace[];
  readonly calls: readonly RepeatedCall[];
}

export function waiterLookups(commands: readonly Command[]): WaiterLookups {
  const places: NamedPlace[] = [];
  const calls: RepeatedCall[] = [];
  for (const command of commands) {
    if (command.kind === 'leave') {
      const [resource] = command.resources;
      if (resource !== undefined) places.push({ resource, ticket: command.ticket, waiterId: command.waiterId });
    } else if ((command.kind === 'acquire' || command.kind === 'acquire-all') && command.wait !== null) {
      calls.push({ owner: command.owner, requestId: command.requestId, waiterId: command.wait.id });
    }
  }
  return { places, calls };
}
