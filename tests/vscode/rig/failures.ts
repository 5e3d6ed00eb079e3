// Writes the tests that failed, or passed on another try only, into a file, with the first lines of each error: the run
// of all tests ends with them.
import fs from 'node:fs';
import path from 'node:path';
import type { FullConfig, Reporter, Suite, TestCase, TestResult } from '@playwright/test/reporter';

/** Lines of an error that are written. */
const LINES = 12;

export default class Failures implements Reporter {
  private readonly file = path.join(import.meta.dirname, '../.out/failures.txt');
  private root: Suite | undefined;

  onBegin(_: FullConfig, root: Suite): void {
    this.root = root;
    fs.rmSync(this.file, { force: true });
  }

  onEnd(): void {
    const tests = this.root!.allTests().filter((test) => ['unexpected', 'flaky'].includes(test.outcome()));
    if (tests.length === 0) return;
    fs.mkdirSync(path.dirname(this.file), { recursive: true });
    fs.writeFileSync(this.file, tests.map(told).join(''));
  }

  printsToStdio(): boolean {
    return false;
  }
}

function told(test: TestCase): string {
  const outcome = test.outcome() === 'flaky' ? 'passed on another try' : 'failed';
  const head = `${path.basename(test.location.file)}:${test.location.line} ${test.title}: ${outcome}\n`;
  return head + test.results.map(error).join('');
}

function error(result: TestResult): string {
  // eslint-disable-next-line no-control-regex -- colours of the terminal
  const text = (result.error?.stack ?? result.error?.message ?? '').replace(/\x1b\[[0-9;]*m/g, '');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.slice(0, LINES).map((line) => `    ${line}\n`).join('');
}
