/** One gigabyte of stdout: its rate against a host pipe, and what the server's memory grows by meanwhile. */
import type { BulkMemory } from '../children/bulk-memory.ts'
import { runChild } from '../children/run-child.ts'
import type { Ground } from '../ground.ts'
import type { Inside } from '../../packages/server/src/guest/inside.ts'
import { interleave } from '../interleave.ts'
import type { Measured } from '../figure.ts'
import type { Measure } from '../measure.ts'
import { megabytesPerSecond, pipeRate } from '../reference.ts'
import { median, quantile } from '../statistics.ts'

export const bulk: Measure = {
  name: 'bulk',
  doing: 'a gigabyte of stdout',
  run: (ground) =>
    ground.withSandbox(async ({ inside, name }) => {
      const bytes = ground.pick({ full: 1_000_000_000, quick: 100_000_000 })
      return [await rate(ground, inside, bytes), await memory(ground, name, bytes)]
    }),
}

async function rate(ground: Ground, inside: Inside, bytes: number): Promise<Measured> {
  const samples = await interleave(
    { runs: ground.pick({ full: 10, quick: 3 }), blockRuns: 1 },
    () => pipeRate(bytes),
    () => guestRate(inside, bytes),
  )
  return {
    id: 'bulk-rate',
    title: `stdout of ${bytes / 1_000_000} MB`,
    value: median(samples.subject),
    unit: 'MB/s',
    samples: samples.subject.length,
    reference: { title: 'a pipe on the host', value: median(samples.reference) },
    bar: { of: 'ratio', at: 'least', limit: 0.7 },
  }
}

/** In processes that do only this, so that nothing else's garbage is counted. The worst one is the figure. */
async function memory(ground: Ground, name: string, bytes: number): Promise<Measured> {
  const growths: number[] = []
  while (growths.length < ground.pick({ full: 3, quick: 1 })) {
    const { baselineBytes, peakBytes } = await runChild<BulkMemory>('bulk-memory.ts', { ...ground.place, name, bytes })
    growths.push((peakBytes - baselineBytes) / 1_000_000)
  }
  return {
    id: 'bulk-memory',
    title: `server memory growth during ${bytes / 1_000_000} MB`,
    value: quantile(growths, 1),
    unit: 'MB',
    samples: growths.length,
    reference: null,
    bar: { of: 'value', at: 'most', limit: 20 },
  }
}

async function guestRate(inside: Inside, bytes: number): Promise<number> {
  const startedAt = performance.now()
  const execution = await inside.exec({ argv: ['head', '-c', String(bytes), '/dev/zero'] })
  let received = 0
  await execution.drain((chunk) => void (received += chunk.bytes.length))
  const elapsedMs = performance.now() - startedAt
  inside.processes.forget(execution.id)
  if (received !== bytes) throw new Error(`the guest carried ${received} bytes instead of ${bytes}`)
  return megabytesPerSecond(bytes, elapsedMs)
}
