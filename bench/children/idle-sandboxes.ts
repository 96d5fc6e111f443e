/**
 * A process that holds idle sandboxes with open connections: what does each cost it?
 *
 * Needs `--expose-gc`: only what is left after a collection is the sandbox's.
 */
import { randomId } from '../../packages/server/src/home/random-id.ts'
import { launchSandbox, type LiveSandbox } from '../../packages/server/src/sandboxes/live-sandbox.ts'
import { openBackend } from '../../test/chaos/open-backend.ts'
import { runInside } from '../command.ts'
import type { Place } from '../ground.ts'
import { answer, readWork } from './run-child.ts'

/** Timers and closed sockets of the launches are let go meanwhile; a FORGET waits for a second. */
const SETTLE_MS = 1_500

export interface IdleSandboxes {
  readonly bytesPerSandbox: number
}

const { under, needs, spec, count } = await readWork<Place & { readonly count: number }>()
const backend = openBackend(under, needs)
const sandboxes: LiveSandbox[] = []

async function launchMore(number: number): Promise<void> {
  for (let launched = 0; launched < number; launched++) {
    const sandbox = await launchSandbox(backend, randomId('sbx'), spec)
    await runInside(sandbox.inside, ['true'])
    sandboxes.push(sandbox)
  }
}

async function heldBytes(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  // A second collection takes what the first one only finalised.
  globalThis.gc?.()
  await new Promise((resolve) => setImmediate(resolve))
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

// As many as are measured, so that code not yet compiled and caches not yet filled are no sandbox's.
await launchMore(count)
const before = await heldBytes()
await launchMore(count)
const after = await heldBytes()
for (const sandbox of sandboxes) await sandbox.destroy()
answer({ bytesPerSandbox: (after - before) / count } satisfies IdleSandboxes)
