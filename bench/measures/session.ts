/** A warm command as a caller has it: found by its key, written down, run, its end stored; against the same spawned on the host. */
import { interleave, timed } from '../interleave.ts'
import type { Measure } from '../measure.ts'
import { spawnOnHost } from '../reference.ts'
import { withSessions } from '../session-ground.ts'
import { median, quantile } from '../statistics.ts'

const COMMAND = ['sh', '-c', 'true'] as const
const BLOCK_RUNS = 20

export const session: Measure = {
  name: 'session',
  doing: 'sh -c true in a session, recorded in SQLite',
  run: (ground) =>
    withSessions(ground, async (run) => {
      await run('warm', COMMAND)
      const turns = { runs: ground.pick({ full: 1_000, quick: 60 }), blockRuns: BLOCK_RUNS }
      const samples = await interleave(
        turns,
        () => timed(() => spawnOnHost(COMMAND)),
        () => timed(() => run('warm', COMMAND)),
      )
      const reference = { title: 'spawn on the host, p50', value: median(samples.reference) }
      const common = { unit: 'ms', samples: samples.subject.length, reference } as const
      return [
        {
          ...common,
          id: 'session-p50',
          title: 'the same in a session, recorded, p50',
          value: median(samples.subject),
          bar: { of: 'ratio', at: 'most', limit: 0.9 },
        },
        {
          ...common,
          id: 'session-p95',
          title: 'the same in a session, recorded, p95',
          value: quantile(samples.subject, 0.95),
          bar: { of: 'ratio', at: 'most', limit: 2 },
        },
      ]
    }),
}
