/** Prints what Vitest's JSON report counted; fails unless tests ran and all of them passed. */
import { readFileSync } from 'node:fs';

const text = readFileSync(process.argv[2], 'utf8');
if (text === '') {
  console.error('The test runner ended without a report.');
  process.exit(1);
}
const report = JSON.parse(text);

// A file that can't be loaded has no test that could fail, so it counts for one.
const brokenFiles = report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length;
const failed = report.numFailedTests + brokenFiles;
const skipped = report.numPendingTests + report.numTodoTests;

console.log(`${report.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = report.success && failed === 0 && report.numPassedTests > 0 ? 0 : 1;
