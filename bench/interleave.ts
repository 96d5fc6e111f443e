/**
 * Reference and subject in turn, in small blocks, so that whatever else the machine does hits both alike.
 */

/** One run; returns what it measured. */
export type Run = () => Promise<number>

export interface Samples {
  readonly reference: readonly number[]
  readonly subject: readonly number[]
}

export interface Turns {
  readonly runs: number
  /** Runs before the other side has its turn. */
  readonly blockRuns: number
}

export async function interleave({ runs, blockRuns }: Turns, reference: Run, subject: Run): Promise<Samples> {
  const samples = { reference: new Array<number>(), subject: new Array<number>() }
  // Code not yet compiled and pages not yet read are nobody's figure.
  await reference()
  await subject()
  while (samples.subject.length < runs) {
    const block = Math.min(blockRuns, runs - samples.subject.length)
    for (let run = 0; run < block; run++) samples.reference.push(await reference())
    for (let run = 0; run < block; run++) samples.subject.push(await subject())
  }
  return samples
}

/** Milliseconds that the work took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
