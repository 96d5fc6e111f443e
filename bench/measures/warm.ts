/** A warm command: `sh -c true` in a sandbox that exists, against the same spawned on the host. */
import { runInside } from '../command.ts'
import { interleave, timed } from '../interleave.ts'
import type { Measure } from '../measure.ts'
import { spawnOnHost } from '../reference.ts'
import { median, quantile } from '../statistics.ts'

const COMMAND = ['sh', '-c', 'true'] as const
const BLOCK_RUNS = 20

export const warm: Measure = {
  name: 'warm',
  doing: 'sh -c true, one after the other',
  run: (ground) =>
    ground.withSandbox(async ({ inside }) => {
      const turns = { runs: ground.pick({ full: 1_000, quick: 60 }), blockRuns: BLOCK_RUNS }
      const samples = await interleave(
        turns,
        () => timed(() => spawnOnHost(COMMAND)),
        () => timed(() => runInside(inside, COMMAND)),
      )
      const typical = { title: 'spawn on the host, p50', value: median(samples.reference) }
      const slow = { title: 'spawn on the host, p95', value: quantile(samples.reference, 0.95) }
      const common = { unit: 'ms', samples: samples.subject.length } as const
      const p95 = quantile(samples.subject, 0.95)
      return [
        {
          ...common,
          id: 'warm-p50',
          title: 'warm `sh -c true`, p50',
          value: median(samples.subject),
          reference: typical,
          bar: { of: 'ratio', at: 'most', limit: 0.7 },
        },
        // Against the host's typical time: the stricter reading of the bar.
        {
          ...common,
          id: 'warm-p95',
          title: 'warm `sh -c true`, p95',
          value: p95,
          reference: typical,
          bar: { of: 'ratio', at: 'most', limit: 1.1 },
        },
        { ...common, id: 'warm-p95-p95', title: 'warm `sh -c true`, p95 against the host’s p95', value: p95, reference: slow, bar: null },
      ]
    }),
}
