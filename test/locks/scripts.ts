import fc from 'fast-check';
import { resourcesOf, type AcquireAllCommand, type AcquireCommand, type Command, type Wait } from '../../src/locks/commands.js';
import { expire } from '../support/lock-values.js';
import type { LineModel } from './line-model.js';

/** Which token a command names: how many acquisitions back, of its own resource or of all. A script knows no numbers yet. */
type TokenChoice = null | 'never issued' | { readonly back: number; readonly of: 'own resource' | 'all resources' };

export const RESOURCES = ['job:1', 'job:2', 'job:3', 'job:4'];

const resource = fc.constantFrom(...RESOURCES);
const resources = fc.uniqueArray(resource, { minLength: 1, maxLength: 3 });
const owner = fc.constantFrom('anna', 'ben', 'carl');

const token: fc.Arbitrary<TokenChoice> = fc.oneof(
  fc.constant(null),
  fc.constant('never issued' as const),
  fc.record({ back: fc.nat(3), of: fc.constantFrom('own resource' as const, 'all resources' as const) }),
);
const locks = fc.uniqueArray(fc.record({ resource, token }), { minLength: 1, maxLength: 3, selector: (lock) => lock.resource });

// Short next to the steps below, so that locks are renewed, expire in between, and expire at the very millisecond.
const ttlMs = fc.integer({ min: 1, max: 60 });

const asked = {
  owner,
  ttlMs,
  requestId: fc.constantFrom(null, 'r1', 'r2'),
  reacquire: fc.boolean(),
  metadata: fc.constantFrom(null, '{"n":1}'),
  wait: fc.option(
    fc.record({
      instance: fc.constantFrom('instance 1', 'instance 2'),
      waitMs: fc.integer({ min: 1, max: 120 }),
      detectDeadlock: fc.boolean(),
    }),
    { freq: 3 },
  ),
};

const acquisition = fc.record({ kind: fc.constant('acquire' as const), resource, ...asked });
const release = fc.record({ kind: fc.constant('release' as const), resource, owner, token });
const renewal = fc.record({ kind: fc.constant('renew' as const), resource, owner, token, ttlMs: fc.option(ttlMs) });

const command = fc.oneof(
  { weight: 3, arbitrary: acquisition },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('acquire-all' as const), resources, ...asked }) },
  { weight: 2, arbitrary: release },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release-all' as const), owner, locks }) },
  { weight: 2, arbitrary: renewal },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew-all' as const), owner, locks, ttlMs: fc.option(ttlMs) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const), resource }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), back: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('repeat' as const), back: fc.nat(4) }) },
);

const commandOnOne = fc.oneof(
  acquisition.map((command) => ({ ...command, wait: null })),
  release,
  renewal,
);

type ScriptCommand = typeof command extends fc.Arbitrary<infer C> ? C : never;

/** What happens at one moment. */
export interface Step {
  readonly advanceMs: number;
  readonly commands: readonly ScriptCommand[];
  /** The sizes of the groups that the commands are split into; what is left over is one more group. */
  readonly groupSizes: readonly number[];
  /** Whether expired rows are purged after it, and those whose time in line has passed. */
  readonly purge: boolean;
  /** Those that count as dead from now on, until the next step. */
  readonly deadInstances: readonly string[];
}

function scriptOf(commands: fc.Arbitrary<ScriptCommand>): fc.Arbitrary<Step[]> {
  const step: fc.Arbitrary<Step> = fc.record({
    // Mostly within the retry window of the steps before, at times beyond it.
    advanceMs: fc.oneof({ weight: 4, arbitrary: fc.nat(30) }, { weight: 1, arbitrary: fc.nat(150) }),
    commands: fc.array(commands, { maxLength: 8 }),
    groupSizes: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }),
    purge: fc.boolean(),
    deadInstances: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constant(['instance 2']) }),
  });
  return fc.array(step, { maxLength: 25, size: 'max' });
}

export const script = scriptOf(command);

/** Of acquires, releases and renewals of one lock each, none of which waits. */
export const scriptWithoutLines = scriptOf(commandOnOne);

/** A command whose tokens are not known yet. */
export interface Prepared {
  readonly resources: readonly string[];
  /** As things stand in the model. */
  resolve(model: LineModel): Command;
}

export type Call = (AcquireCommand | AcquireAllCommand) & { readonly wait: Wait };

/** The commands of a step. `calls` are those of earlier steps that may have waited, and learns of this one's. */
export function prepare({ commands, deadInstances }: Step, calls: Call[]): Prepared[] {
  return commands.map((scripted) => {
    switch (scripted.kind) {
      case 'acquire':
      case 'acquire-all': {
        // No two calls share an id, and a dead instance makes none.
        const { wait } = scripted;
        const instance = wait === null || deadInstances.includes(wait.instance) ? 'instance 1' : wait.instance;
        const call = { ...scripted, wait: wait === null ? null : { ...wait, id: `call ${calls.length + 1}`, instance } };
        if (isWaiting(call)) calls.push(call);
        return { resources: resourcesOf(call), resolve: () => call };
      }
      case 'release':
      case 'renew': {
        const { token: choice, ...rest } = scripted;
        return {
          resources: [rest.resource],
          resolve: (model) => ({ ...rest, fencingToken: tokenOf(choice, rest.resource, model) }),
        };
      }
      case 'release-all':
      case 'renew-all': {
        const named = (model: LineModel) =>
          scripted.locks.map(({ resource: name, token: choice }) => ({
            resource: name,
            fencingToken: tokenOf(choice, name, model),
          }));
        return {
          resources: scripted.locks.map((lock) => lock.resource),
          resolve: (model) => ({ ...scripted, locks: named(model) }),
        };
      }
      case 'expire':
        return { resources: [scripted.resource], resolve: () => scripted };
      case 'leave':
      case 'repeat': {
        const call = calls.at(-1 - scripted.back);
        if (call === undefined) return { resources: ['job:1'], resolve: () => expire('job:1') };
        const { owner: asking, wait } = call;
        const named = { waiterId: wait.id, resources: resourcesOf(call), owner: asking };
        return {
          resources: named.resources,
          resolve: (model) => {
            const waiter = model.waiters.find(({ id }) => id === wait.id);
            // A call is repeated only while nobody knows what became of it.
            if (scripted.kind === 'repeat' && waiter !== undefined) return call;
            return { kind: 'leave', ...named, ticket: waiter?.ticket ?? 0n };
          },
        };
      }
    }
  });
}

function isWaiting(call: AcquireCommand | AcquireAllCommand): call is Call {
  return call.wait !== null;
}

function tokenOf(choice: TokenChoice, ownResource: string, model: LineModel): bigint | null {
  if (choice === null) return null;
  if (choice === 'never issued') return 999_999n;
  const { back, of } = choice;
  const candidates = model.locks.acquisitions.filter((past) => of === 'all resources' || past.resource === ownResource);
  return candidates.at(-1 - back)?.token ?? null;
}
