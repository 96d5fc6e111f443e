/**
 * The real server, doing nothing: what it keeps, and what it uses.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Place } from './ground.ts'
import { residentBytes } from './process-status.ts'
import { withServer } from './server-process.ts'

const IDLE_MS = 2_000

/** Resident bytes after it has been ready and idle for a while. */
export async function idleServerBytes(place: Place): Promise<number> {
  return withServer(place, {}, async ({ pid }) => {
    await delay(IDLE_MS)
    return residentBytes(pid)
  })
}
