/**
 * A process that does nothing but read much output of one sandbox: how far does its memory grow?
 *
 * The baseline is taken after the connection and a first small command, before any bulk output, so that also the growth of the heap counts.
 */
import { connectInside } from '../../packages/server/src/guest/guest-inside.ts'
import { openBackend } from '../../test/chaos/open-backend.ts'
import { runInside } from '../command.ts'
import type { Place } from '../ground.ts'
import { answer, readWork } from './run-child.ts'

const SAMPLE_EVERY_MS = 5

export interface BulkMemory {
  readonly baselineBytes: number
  readonly peakBytes: number
}

const { under, needs, name, bytes } = await readWork<Place & { readonly name: string; readonly bytes: number }>()
const sandbox = await openBackend(under, needs).attach(name)
const inside = await connectInside(await sandbox.dial())
await runInside(inside, ['true'])

const baselineBytes = process.memoryUsage.rss()
let peakBytes = baselineBytes
const sample = () => {
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss())
}
const sampling = setInterval(sample, SAMPLE_EVERY_MS)
const execution = await inside.exec({ argv: ['head', '-c', String(bytes), '/dev/zero'] })
let received = 0
await execution.drain((chunk) => void (received += chunk.bytes.length))
sample()
clearInterval(sampling)
inside.processes.forget(execution.id)
inside.close()
if (received !== bytes) throw new Error(`${received} bytes came instead of ${bytes}`)
answer({ baselineBytes, peakBytes } satisfies BulkMemory)
