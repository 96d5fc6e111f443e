/** Throughput: eight sandboxes with a command each at all times, against eight spawners on the host. */
import { runInside } from '../command.ts'
import type { Ground } from '../ground.ts'
import { interleave } from '../interleave.ts'
import type { Measure } from '../measure.ts'
import { spawnOnHost } from '../reference.ts'
import { median } from '../statistics.ts'

const COMMAND = ['sh', '-c', 'true'] as const
/** Eight workers, by number. */
export const EIGHT = [0, 1, 2, 3, 4, 5, 6, 7] as const

export const throughput: Measure = {
  name: 'throughput',
  doing: 'eight sandboxes at once, each with one command after the other',
  async run(ground) {
    const sandboxes = await launchAll(ground)
    const windowMs = ground.pick({ full: 1_000, quick: 300 })
    const hostWorkers = EIGHT.map(() => () => spawnOnHost(COMMAND))
    const guestWorkers = sandboxes.map(
      ({ inside }) =>
        () =>
          runInside(inside, COMMAND),
    )
    try {
      const samples = await interleave(
        { runs: ground.pick({ full: 12, quick: 3 }), blockRuns: 1 },
        () => ratePerSecond(hostWorkers, windowMs),
        () => ratePerSecond(guestWorkers, windowMs),
      )
      return [
        {
          id: 'throughput',
          title: 'throughput, 8 sandboxes',
          value: median(samples.subject),
          unit: 'commands/s',
          samples: samples.subject.length,
          reference: { title: '8 spawners on the host', value: median(samples.reference) },
          bar: { of: 'ratio', at: 'least', limit: 2 },
        },
      ]
    } finally {
      await Promise.all(sandboxes.map((sandbox) => sandbox.destroy()))
    }
  },
}

function launchAll(ground: Ground) {
  return Promise.all(EIGHT.map(() => ground.launch(ground.unboundSpec)))
}

/** Every worker runs until the window is over; what ends late counts with the time it took. */
export async function ratePerSecond(workers: readonly (() => Promise<void>)[], windowMs: number): Promise<number> {
  const startedAt = performance.now()
  let finished = 0
  const runUntilOver = async (work: () => Promise<void>) => {
    while (performance.now() - startedAt < windowMs) {
      await work()
      finished += 1
    }
  }
  await Promise.all(workers.map(runUntilOver))
  return (finished * 1_000) / (performance.now() - startedAt)
}
