/**
 * Says what failed in a line each, before the details: where only a part of a long log is kept, this part tells the most.
 */
import type { Reporter, TestCase, TestModule } from 'vitest/node'

const MOST_LINES = 60
const MOST_CHARACTERS = 110

// oxlint-disable-next-line import/no-default-export -- where vitest looks for a reporter
export default class FailuresInShort implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const failed = modules.flatMap((module) => [...module.children.allTests('failed')])
    if (failed.length === 0) return
    const lines = failed.slice(0, MOST_LINES).map((test) => `✗ ${test.fullName.slice(-MOST_CHARACTERS)}: ${reasonOf(test)}`)
    process.stdout.write(`\nin short, ${failed.length} failed:\n${lines.join('\n')}\n`)
  }
}

function reasonOf(test: TestCase): string {
  const [line = ''] = (test.result().errors?.[0]?.message ?? '').split('\n')
  return line.slice(0, MOST_CHARACTERS)
}
