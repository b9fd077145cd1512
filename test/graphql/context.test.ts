import { expect, test, vi } from 'vitest';
import { GraphQLContext } from '../../src/graphql/context.js';
import { StoreUnavailable } from '../../src/store/lock-store.js';
import { CALLER, startApi } from './api.js';

test('after an answer for which the time could not be read, the next one of a stream counts lines again', async () => {
  const { services } = await startApi();
  const context = new GraphQLContext(services, CALLER);
  const unavailable = new StoreUnavailable('The database could not be read', false);
  vi.spyOn(services.engine, 'now').mockRejectedValueOnce(unavailable);
  await expect(context.queueLength('job:1')).rejects.toBe(unavailable);
  context.startAnswer();
  expect(await context.queueLength('job:1')).toBe(0);
});
