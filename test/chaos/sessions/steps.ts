/**
 * Counts the steps of a server, and kills it at one of them.
 *
 * A step is told right after something lasting was done, and right before a commit. What lies between two steps is memory only.
 */
export interface Steps {
  /** The process ends here if this is the step to die at. */
  tell(name: string): void
  /** From here on steps count. */
  arm(killAt: number | null): void
  /** What was told since then, in order. */
  readonly told: readonly string[]
}

export function countSteps(): Steps {
  const told: string[] = []
  let isArmed = false
  let deadlyStep: number | null = null
  return {
    told,
    arm(killAt) {
      isArmed = true
      deadlyStep = killAt
    },
    tell(name) {
      if (!isArmed) return
      told.push(name)
      if (told.length === deadlyStep) process.kill(process.pid, 'SIGKILL')
    },
  }
}
