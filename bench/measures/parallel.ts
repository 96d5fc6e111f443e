/** Commands side by side in one sandbox: eight sleeps take as long as one. */
import { runInside } from '../command.ts'
import { interleave, timed } from '../interleave.ts'
import type { Measure } from '../measure.ts'
import { spawnOnHost } from '../reference.ts'
import { median } from '../statistics.ts'

const COMMAND = ['sleep', '0.5'] as const
const COMMANDS = 8

export const parallel: Measure = {
  name: 'parallel',
  doing: 'eight times sleep 0.5 in one sandbox',
  run: (ground) =>
    ground.withSandbox(async ({ inside }) => {
      const samples = await interleave(
        { runs: ground.pick({ full: 10, quick: 2 }), blockRuns: 1 },
        () => seconds(() => spawnOnHost(COMMAND)),
        () => seconds(() => runInside(inside, COMMAND)),
      )
      return [
        {
          id: 'parallel-sleep',
          title: '8 × `sleep 0.5` in one sandbox',
          value: median(samples.subject),
          unit: 's',
          samples: samples.subject.length,
          reference: { title: 'the same on the host', value: median(samples.reference) },
          bar: { of: 'value', at: 'most', limit: 0.6 },
        },
      ]
    }),
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const milliseconds = await timed(() => Promise.all(Array.from({ length: COMMANDS }, work)))
  return milliseconds / 1_000
}
