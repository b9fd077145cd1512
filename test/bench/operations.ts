const ACQUIRE = `mutation($input:AcquireLockInput!){acquireLock(input:$input){__typename ...on LockAcquired{lock{fencingToken expiresAt}}...on LockError{message}}}`;
const RELEASE = `mutation($input:ReleaseLockInput!){releaseLock(input:$input){__typename ...on LockReleased{revision}...on LockError{message}}}`;
const RENEW = `mutation($input:RenewLockInput!){renewLock(input:$input){__typename ...on LockRenewed{lock{fencingToken expiresAt}}...on LockError{message}}}`;
const LOOK = `query($resource:String!){lock(resource:$resource){owner fencingToken expiresAt}}`;
const NOOP = 'mutation($resource:String!,$owner:String!){noop(resource:$resource,owner:$owner)}';

const payload = (query: string, variables: object) => JSON.stringify({ query, variables });

/** Request bodies, as JSON text. */
export const acquireBody = (resource: string, owner: string, ttlMs = 60_000) =>
  payload(ACQUIRE, { input: { resource, owner, ttlMs } });
export const releaseBody = (resource: string, owner: string) => payload(RELEASE, { input: { resource, owner } });
export const renewBody = (resource: string, owner: string) => payload(RENEW, { input: { resource, owner } });
export const lookBody = (resource: string) => payload(LOOK, { resource });
export const noopBody = (resource: string, owner: string) => payload(NOOP, { resource, owner });

/** Throws where an answer is not what the benchmark believes it measures. */
export function expectAnswer(answer: string, expected: string): void {
  if (!answer.includes(expected)) throw new Error(`Expected ${expected}, got ${answer}`);
}
