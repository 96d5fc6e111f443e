/** A 100-byte message to `cat` and back, against the same through two host pipes. */
import type { Inside } from '../../packages/server/src/guest/inside.ts'
import { interleave, timed } from '../interleave.ts'
import type { Measure } from '../measure.ts'
import { awaitedBytes, echoOnHost, type Echo } from '../reference.ts'
import { median } from '../statistics.ts'

const MESSAGE = Buffer.alloc(100, 'x')
const BLOCK_RUNS = 100

export const echo: Measure = {
  name: 'echo',
  doing: '100 bytes to cat and back',
  run: (ground) =>
    ground.withSandbox(async ({ inside }) => {
      const host = echoOnHost()
      const guest = await echoInside(inside)
      const samples = await interleave(
        { runs: ground.pick({ full: 4_000, quick: 400 }), blockRuns: BLOCK_RUNS },
        () => timed(() => host.roundTrip(MESSAGE)),
        () => timed(() => guest.roundTrip(MESSAGE)),
      )
      await Promise.all([host.close(), guest.close()])
      return [
        {
          id: 'echo-p50',
          title: '100-byte round trip, p50',
          value: median(samples.subject),
          unit: 'ms',
          samples: samples.subject.length,
          reference: { title: 'two pipes on the host', value: median(samples.reference) },
          bar: { of: 'ratio', at: 'most', limit: 15 },
        },
      ]
    }),
}

async function echoInside(inside: Inside): Promise<Echo> {
  const execution = await inside.exec({ argv: ['cat'], stdin: 'pipe' })
  const answers = awaitedBytes()
  const ended = execution.drain((chunk) => answers.arrived(chunk.bytes.length))
  return {
    async roundTrip(message) {
      const answered = answers.expect(message.length)
      await execution.stdin.write(message)
      await answered
    },
    async close() {
      execution.stdin.end()
      await ended
      inside.processes.forget(execution.id)
    },
  }
}
