/** The server's lease: how soon another server may take sessions over, and when it must not. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { migrate } from '../store/migrate.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import type { Store } from '../store/store.ts'
import { createLog } from '../telemetry/log.ts'
import { sampleSession } from './contract/sample-session.ts'
import { holdServerLease } from './server-lease.ts'
import type { ServerLease } from './server-lease.ts'

const TAKEOVER_MS = 5_000
const SESSION = sampleSession({ serverId: 'srv_first' })

let store: Store
let isReachable = true
const leases: ServerLease[] = []

beforeEach(async () => {
  // Not the timers of the store.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date', 'performance'] })
  const opened = await openSqliteStore(':memory:')
  await migrate(opened)
  isReachable = true
  store = { ...opened, write: (work) => (isReachable ? opened.write(work) : Promise.reject(new Error('unreachable'))) }
})
afterEach(async () => {
  for (const lease of leases.splice(0)) lease.stop()
  vi.useRealTimers()
  await store.close()
})

async function holdLease(serverId: string): Promise<ServerLease> {
  const lease = await holdServerLease({
    store,
    serverId,
    url: null,
    clock: Date.now,
    takeoverMs: TAKEOVER_MS,
    log: createLog({ level: 'error', format: 'json' }, () => true),
  })
  leases.push(lease)
  return lease
}

/** In steps, so that renewals are stored as time passes. */
async function pass(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 100) {
    vi.advanceTimersByTime(100)
    await store.read(async () => undefined)
  }
}

test('a server loses its sessions takeover_seconds after it was killed', async () => {
  const [first, second] = [await holdLease('srv_first'), await holdLease('srv_second')]
  await pass(3 * TAKEOVER_MS)
  await expect(second.claimOn(SESSION)).rejects.toMatchObject({ code: 'session_elsewhere' })
  first.stop()
  await pass(TAKEOVER_MS + 100)
  expect(await second.claimOn(SESSION)).toBe('may-take-over')
})

test('an outage of the database moves no session, however long it lasts', async () => {
  const [first, second] = [await holdLease('srv_first'), await holdLease('srv_second')]
  await pass(TAKEOVER_MS)
  isReachable = false
  await pass(4 * TAKEOVER_MS)
  await expect(second.claimOn(SESSION)).rejects.toMatchObject({ code: 'session_elsewhere' })
  isReachable = true
  // The second one is back first.
  first.stop()
  await pass(TAKEOVER_MS / 2)
  await expect(second.claimOn(SESSION)).rejects.toMatchObject({ code: 'session_elsewhere' })
  await pass(TAKEOVER_MS)
  expect(await second.claimOn(SESSION)).toBe('may-take-over')
})
