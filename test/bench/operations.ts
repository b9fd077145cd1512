const ACQUIRE = `mutation($input:AcquireLockInput!){acquireLock(input:$input){__typename ...on LockAcquired{lock{fencingToken expiresAt}}...on LockError{message}}}`;
const RELEASE = `mutation($input:ReleaseLockInput!){releaseLock(input:$input){__typename ...on LockReleased{revision}...on LockError{message}}}`;
const RENEW = `mutation($input:RenewLockInput!){renewLock(input:$input){__typename ...on LockRenewed{lock{fencingToken expiresAt}}...on LockError{message}}}`;
const LOOK = `query($resource:String!){lock(resource:$resource){owner fencingToken expiresAt}}`;
const ACQUIRE_ALL = `mutation($input:AcquireLocksInput!){acquireLocks(input:$input){__typename ...on LocksAcquired{locks{resource fencingToken}}...on LockError{message}}}`;
const RELEASE_ALL = `mutation($input:ReleaseLocksInput!){releaseLocks(input:$input){__typename released{revision} notHeld}}`;
const RENEW_ALL = `mutation($input:RenewLocksInput!){renewLocks(input:$input){__typename locks{expiresAt} lost}}`;

const payload = (query: string, variables: object) => JSON.stringify({ query, variables });

/** Request bodies, as JSON text. */
export const acquireBody = (resource: string, owner: string, ttlMs = 60_000) =>
  payload(ACQUIRE, { input: { resource, owner, ttlMs } });
export const waitingBody = (resource: string, owner: string, waitMs: number) =>
  payload(ACQUIRE, { input: { resource, owner, ttlMs: 60_000, waitMs } });
export const acquireAllBody = (resources: readonly string[], owner: string) =>
  payload(ACQUIRE_ALL, { input: { resources, owner, ttlMs: 60_000 } });
export const releaseAllBody = (resources: readonly string[] | null, owner: string) =>
  payload(RELEASE_ALL, { input: { owner, locks: resources?.map((resource) => ({ resource })) } });
export const renewAllBody = (owner: string) => payload(RENEW_ALL, { input: { owner, ttlMs: 60_000 } });
export const releaseBody = (resource: string, owner: string) => payload(RELEASE, { input: { resource, owner } });
export const renewBody = (resource: string, owner: string) => payload(RENEW, { input: { resource, owner } });
export const lookBody = (resource: string) => payload(LOOK, { resource });

/** Throws where an answer is not what the benchmark believes it measures. */
export function expectAnswer(answer: string, expected: string): void {
  if (!answer.includes(expected)) throw new Error(`Expected ${expected}, got ${answer}`);
}
