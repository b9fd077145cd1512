import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What is still referred to, in bytes; by the service and by its clients, where both are in this process. */
export function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Which of them are still referred to. To be called in a turn after the one that made the references. */
export function stillReferredTo<T extends WeakKey>(references: readonly WeakRef<T>[]): T[] {
  collectGarbage();
  return references.map((reference) => reference.deref()).filter((value) => value !== undefined);
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
