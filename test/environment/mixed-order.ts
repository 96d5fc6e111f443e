/**
 * The order of the test files, so that two cores are busy to the end: files that compute beside files that wait.
 *
 * Left to itself vitest begins with the largest files. The longest tests stand in files of four lines; they came last, two of those that
 * use whole cores at the same time, after a long while in which most files had waited.
 */
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** What is killed again and again computes. */
const COMPUTES = /\.crash\.test\.ts$/
/** What needs a sandbox waits for it. */
const WAITS = /\.(?:contract|e2e)\.test\.ts$/

export class MixedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is the order of files by vitest itself
    return mixed(await super.sort(files), ({ moduleId }) => moduleId)
  }
}

/** Those that compute evenly among those that wait, the deepest first; then all others, which are quick and fill the end. */
export function mixed<T>(files: readonly T[], pathOf: (file: T) => string): T[] {
  const depth = (file: T) => pathOf(file).split('/').length
  const computing = files.filter((file) => COMPUTES.test(pathOf(file))).toSorted((one, other) => depth(other) - depth(one))
  const waiting = files.filter((file) => WAITS.test(pathOf(file)))
  const quick = files.filter((file) => !COMPUTES.test(pathOf(file)) && !WAITS.test(pathOf(file)))
  const distance = Math.ceil(waiting.length / Math.max(computing.length, 1))
  const rows = Array.from({ length: Math.max(computing.length, 1) }, (_, row) => [
    ...computing.slice(row, row + 1),
    ...waiting.slice(row * distance, (row + 1) * distance),
  ])
  return [...rows.flat(), ...quick]
}
