import fc from 'fast-check';
import type { AcquireCommand, Command, ExpireCommand, ReleaseCommand, RenewCommand } from '../../src/locks/commands.js';
import type { LockModel } from './lock-model.js';

/** Which token a command names: how many acquisitions back, of its own resource or of all. A script knows no numbers yet. */
type TokenChoice = null | 'never issued' | { readonly back: number; readonly of: 'own resource' | 'all resources' };

type Unresolved<C> = Omit<C, 'fencingToken'> & { readonly token: TokenChoice };
export type ScriptCommand = AcquireCommand | ExpireCommand | Unresolved<ReleaseCommand> | Unresolved<RenewCommand>;

/** What happens at one moment. */
export interface Step {
  readonly advanceMs: number;
  readonly commands: readonly ScriptCommand[];
  /** The sizes of the groups that the commands are split into; what is left over is one more group. */
  readonly groupSizes: readonly number[];
  /** Whether expired rows are purged after it. */
  readonly purge: boolean;
}

const resource = fc.constantFrom('job:1', 'job:2', 'job:3');
const owner = fc.constantFrom('anna', 'ben', 'carl');

const token: fc.Arbitrary<TokenChoice> = fc.oneof(
  fc.constant(null),
  fc.constant('never issued' as const),
  fc.record({ back: fc.nat(3), of: fc.constantFrom('own resource' as const, 'all resources' as const) }),
);

// Short next to the steps below, so that locks are renewed, expire in between, and expire at the very millisecond.
const ttlMs = fc.integer({ min: 1, max: 60 });

const command: fc.Arbitrary<ScriptCommand> = fc.oneof(
  fc.record({
    kind: fc.constant('acquire' as const),
    resource,
    owner,
    ttlMs,
    requestId: fc.constantFrom(null, 'r1', 'r2'),
    reacquire: fc.boolean(),
    metadata: fc.constantFrom(null, '{"n":1}'),
  }),
  fc.record({ kind: fc.constant('release' as const), resource, owner, token }),
  fc.record({ kind: fc.constant('renew' as const), resource, owner, token, ttlMs: fc.option(ttlMs) }),
  fc.record({ kind: fc.constant('expire' as const), resource }),
);

const step: fc.Arbitrary<Step> = fc.record({
  // Mostly within the retry window of the steps before, at times beyond it.
  advanceMs: fc.oneof({ weight: 4, arbitrary: fc.nat(30) }, { weight: 1, arbitrary: fc.nat(150) }),
  commands: fc.array(command, { maxLength: 8 }),
  groupSizes: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }),
  purge: fc.boolean(),
});

export const script: fc.Arbitrary<Step[]> = fc.array(step, { maxLength: 25, size: 'max' });

/** The command with the number of the token that it means, as things stand in the model. */
export function resolve(scripted: ScriptCommand, model: LockModel): Command {
  if (!('token' in scripted)) return scripted;
  const { token: choice, ...rest } = scripted;
  return { ...rest, fencingToken: tokenOf(choice, scripted.resource, model) };
}

function tokenOf(choice: TokenChoice, ownResource: string, model: LockModel): bigint | null {
  if (choice === null) return null;
  if (choice === 'never issued') return 999_999n;
  const { back, of } = choice;
  const candidates = model.acquisitions.filter((past) => of === 'all resources' || past.resource === ownResource);
  return candidates.at(-1 - back)?.token ?? null;
}
