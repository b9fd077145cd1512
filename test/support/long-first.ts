import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that run for longest. Whatever of them began last would keep a run waiting when all others are done. */
const LONG = new RegExp(
  `/(?:${['chaos', 'random-sequences', 'simulated-history', 'busy-database', 'slow-reads', 'production-install'].join('|')})\\b`,
);

export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const rank = ({ moduleId }: TestSpecification) => (LONG.test(moduleId) ? 0 : 1);
    // What is equal keeps the order that Vitest gave it.
    return (await super.sort(files)).sort((a, b) => groupOf(a) - groupOf(b) || rank(a) - rank(b));
  }
}
