import { ACQUIRE, post } from '../support/http-client.js';

export const RELEASE = 'mutation ($input: ReleaseLockInput!) { releaseLock(input: $input) { __typename } }';

export const HOLD = `subscription ($input: HoldLockInput!) { holdLock(input: $input) { __typename
  ... on LockQueued { position }
  ... on LockAcquired { lock { fencingToken } }
  ... on LockRenewed { lock { fencingToken } }
  ... on LockLost { cause }
  ... on Conflict { reason } } }`;

/** An acquire of `r`; what it answers: the union member with the owner, or the error's code. */
export async function acquireR(url: string, owner: string, waitMs = 0): Promise<string> {
  const { data, errors } = await post(url, ACQUIRE, { input: { resource: 'r', owner, ttlMs: 60_000, waitMs } });
  if (data == null) return `${String(errors?.[0]?.extensions['code'])} ${String(errors?.[0]?.extensions['applied'])}`;
  const { __typename, lock, reason } = data['acquireLock'];
  return `${__typename} ${lock?.owner ?? reason}`;
}

export async function releaseR(url: string, owner: string): Promise<void> {
  const { data } = await post(url, RELEASE, { input: { resource: 'r', owner } });
  if (data?.['releaseLock'].__typename !== 'LockReleased') throw new Error(`${owner} does not hold it`);
}
