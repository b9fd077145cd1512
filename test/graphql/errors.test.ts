import { GraphQLError } from 'graphql';
import { expect, test } from 'vitest';
import { badUserInput, presentError } from '../../src/graphql/errors.js';
import { StoreUnavailable } from '../../src/store/lock-store.js';

const located = (cause: Error, path: (string | number)[]) => new GraphQLError(cause.message, { path, originalError: cause });
const noFault = (fault: unknown): never => {
  throw fault;
};

test('an outage before anything was stored says so', () => {
  const shown = presentError(located(new StoreUnavailable('disk full', false), ['acquireLock']), noFault);
  expect(shown.extensions).toEqual({ code: 'UNAVAILABLE', retryable: true, applied: false });
  expect(shown.path).toEqual(['acquireLock']);
  expect(shown.message).not.toContain('disk');
});

test('an outage that may have come after the change leaves open whether it happened', () => {
  const shown = presentError(located(new StoreUnavailable('broken pipe', null), ['acquireLock']), noFault);
  expect(shown.extensions).toEqual({ code: 'UNAVAILABLE', retryable: true });
});

test('an outage while a part of the answer is read does not deny the change', () => {
  const shown = presentError(located(new StoreUnavailable('gone', false), ['acquireLock', 'lock', 'remainingMs']), noFault);
  expect(shown.extensions).toEqual({ code: 'UNAVAILABLE', retryable: true });
});

test('an outage of the reading client is one, and is logged', () => {
  const outage = Object.assign(new Error('SocketTimeout at /var/lib'), { name: 'PrismaClientKnownRequestError' });
  const faults: unknown[] = [];
  const shown = presentError(located(outage, ['locks']), (fault) => String(faults.push(fault)));
  expect(shown.extensions).toEqual({ code: 'UNAVAILABLE', retryable: true });
  expect(shown.message).not.toContain('/var/lib');
  expect(faults).toEqual([outage]);
});

test('a fault of ours shows nothing but the id it was logged under', () => {
  const fault = new TypeError('x is undefined in /srv/holdfast/secret.js');
  const shown = presentError(located(fault, ['lock']), (logged) => (logged === fault ? 'id-1' : 'wrong'));
  expect(JSON.parse(JSON.stringify(shown))).toEqual({
    message: 'Internal server error',
    path: ['lock'],
    extensions: { code: 'INTERNAL_SERVER_ERROR', id: 'id-1' },
  });
});

test('a value that a scalar can not send is a fault of ours', () => {
  const shown = presentError(located(new GraphQLError('Int cannot represent 4294967296'), ['server', 'x']), () => 'id-2');
  expect(shown.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', id: 'id-2' });
});

test('what is thrown as no error at all is a fault of ours', () => {
  expect(presentError('boom', () => 'id-3').extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', id: 'id-3' });
});

test('a bad value is shown as it was made', () => {
  const shown = presentError(located(badUserInput('ttlMs', 'ttlMs must be from 1 to 5'), ['acquireLock']), noFault);
  expect(shown.message).toBe('ttlMs must be from 1 to 5');
  expect(shown.extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'ttlMs' });
});

test.each([
  ['Variable "$input" got invalid value 0.5 at "input.ttlMs"; Int cannot represent non-integer value: 0.5', 'ttlMs'],
  ['Variable "$ids" got invalid value [] at "ids[3]"; Expected non-nullable type "ID!" not to be null.', 'ids'],
  ['Variable "$f" got invalid value "X" at "f.types[0]"; Value "X" does not exist in "LockEventType" enum.', 'types'],
  ['Variable "$first" got invalid value "x"; Int cannot represent non-integer value: "x"', 'first'],
  ['Variable "$input" of required type "AcquireLockInput!" was not provided.', 'input'],
  ['Argument "input" has invalid value {metadata: $m}.', 'input'],
])('%s names the argument', (message, argument) => {
  expect(presentError(new GraphQLError(message), noFault).extensions).toEqual({ code: 'BAD_USER_INPUT', argument });
});

test('an error of the operation itself is the mistake of the caller', () => {
  const shown = presentError(new GraphQLError('Unknown operation named "x".'), noFault);
  expect([shown.message, shown.extensions]).toEqual(['Unknown operation named "x".', { code: 'BAD_USER_INPUT' }]);
});

test('a variable at which a scalar threw something is the mistake of the caller', () => {
  const message = 'Variable "$at" got invalid value {}; Expected type "DateTime". x.split is not a function';
  const shown = presentError(new GraphQLError(message, { originalError: new TypeError('x.split is not a function') }), noFault);
  expect(shown.extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'at' });
});

test.each([
  ['without a path', 'x is undefined', undefined],
  ['that reads like a bad argument', 'Argument "input" has invalid value', ['lock']],
])('a fault %s is a fault of ours', (_, message, path) => {
  const shown = presentError(new GraphQLError(message, { path, originalError: new TypeError(message) }), () => 'id-4');
  expect(shown.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', id: 'id-4' });
});
