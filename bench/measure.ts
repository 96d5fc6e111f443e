/**
 * A measure: one row of the table, on any backend. Each lies in its own file in `measures/`.
 */
import type { Measured } from './figure.ts'
import type { Ground } from './ground.ts'

export interface Measure {
  /** For `--only`. */
  readonly name: string
  /** What happens, for the person who waits. */
  readonly doing: string
  run(ground: Ground): Promise<readonly Measured[]>
}
