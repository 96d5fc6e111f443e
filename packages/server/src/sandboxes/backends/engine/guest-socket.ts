/**
 * Reaching the guest of a container through its socket.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '@holdfast/protocol'
import type { Socket } from 'node:net'
import { SOCKET_NAME } from './container-plan.ts'
import { connectGuest } from '../guest-connection.ts'

const FIRST_WAIT_MS = 1
const LONGEST_WAIT_MS = 20
const LOOK_EVERY_MS = 200
const MAX_WAIT_MS = 15_000

/** A new connection; throws `guest_unreachable`. */
export async function dialGuest(name: string, directory: string, signal?: AbortSignal): Promise<Socket> {
  try {
    return await connectGuest(join(directory, SOCKET_NAME), signal)
  } catch (error) {
    if (signal?.aborted) throw error
    throw new HoldfastError('guest_unreachable', `the guest of ${name} does not answer (${reasonOf(error)})`, { name }, { cause: error })
  }
}

/** Resolves once the guest accepts connections. `assertAlive` is asked now and then and throws when there is nothing to wait for. */
export async function waitForGuest(name: string, directory: string, assertAlive: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const startedAt = performance.now()
  let lookedAt = startedAt
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      const socket = await dialGuest(name, directory, signal)
      socket.destroy()
      return
    } catch (error) {
      signal.throwIfAborted()
      const now = performance.now()
      if (now - startedAt > MAX_WAIT_MS) throw error
      if (now - lookedAt > LOOK_EVERY_MS) {
        lookedAt = now
        await assertAlive()
      }
    }
    await sleep(waitMs, undefined, { signal })
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
