import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What is still referred to, in bytes; by the service and by its clients, where both are in this process. */
export function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
