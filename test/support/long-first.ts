import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Of those that run for longest. Whatever of them began last would keep a run waiting when all others are done. */
const NAMES = [
  'chaos',
  'random-sequences',
  'simulated-history',
  'busy-database',
  'crossed-pairs',
  'slow-reads',
  'production-install',
];
const LONG = new RegExp(`/(?:${NAMES.join('|')})\\b`);

export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const rank = ({ moduleId }: TestSpecification) => (LONG.test(moduleId) ? 0 : 1);
    // What is equal keeps the order that Vitest gave it.
    return (await super.sort(files)).sort((a, b) => groupOf(a) - groupOf(b) || rank(a) - rank(b));
  }
}
