/** A 10 MB file written and read through the guest, as a rate against a host pipe's. */
import type { Inside } from '../../packages/server/src/guest/inside.ts'
import type { Figure, Measured } from '../figure.ts'
import type { Ground } from '../ground.ts'
import { interleave } from '../interleave.ts'
import type { Measure } from '../measure.ts'
import { megabytesPerSecond, pipeRate } from '../reference.ts'
import { median } from '../statistics.ts'

const FILE_BYTES = 10_000_000
/** Long enough that the start of the program does not show. */
const PIPE_BYTES = 200_000_000
const PATH = '/workspace/ten-megabytes'
/** 300 MB/s on a machine whose host pipe does 500. */
const BAR: Figure['bar'] = { of: 'ratio', at: 'least', limit: 0.6 }

export const files: Measure = {
  name: 'files',
  doing: 'a 10 MB file in and out',
  run: (ground) =>
    ground.withSandbox(async ({ inside }) => {
      const content = Buffer.alloc(FILE_BYTES, 'holdfast')
      const written = await rate(ground, () => inside.files.write(PATH, content))
      const read = await rate(ground, () => readWhole(inside))
      return [
        { ...written, id: 'file-write', title: '10 MB file write' },
        { ...read, id: 'file-read', title: '10 MB file read' },
      ]
    }),
}

async function rate(ground: Ground, work: () => Promise<void>): Promise<Omit<Measured, 'id' | 'title'>> {
  const samples = await interleave(
    // Longer turns than elsewhere: the host's side leaves a gigabyte of garbage, whose collection must not be charged to the first of ours.
    { runs: ground.pick({ full: 60, quick: 10 }), blockRuns: 10 },
    () => pipeRate(PIPE_BYTES),
    async () => {
      const startedAt = performance.now()
      await work()
      return megabytesPerSecond(FILE_BYTES, performance.now() - startedAt)
    },
  )
  return {
    value: median(samples.subject),
    unit: 'MB/s',
    samples: samples.subject.length,
    reference: { title: 'a pipe on the host', value: median(samples.reference) },
    bar: BAR,
  }
}

async function readWhole(inside: Inside): Promise<void> {
  let received = 0
  const content = await inside.files.read(PATH)
  content.on('data', (chunk: Buffer) => (received += chunk.length))
  await new Promise((resolve, reject) => content.once('end', resolve).once('error', reject))
  if (received !== FILE_BYTES) throw new Error(`the file came back with ${received} bytes instead of ${FILE_BYTES}`)
}
