/**
 * Waits until the server has done what follows from an action by itself: sandboxes made, clean-ups finished, losses noticed.
 *
 * Looks only at the server: nothing is under way, no row is on its way anywhere, and no sandbox is there that nobody names. A server
 * that never comes to rest fails the sequence.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Row } from '../../packages/server/src/store/store.ts'
import type { System } from './system.ts'

/** Longer than anything takes on a machine with other work. */
export const PATIENCE_MS = 120_000
const QUIET_TURNS = 4

export async function settle(system: System): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS
  for (;;) {
    await untilQuiet(system, giveUpAt)
    const unrest = await whatIsUnderWay(system)
    if (unrest.length === 0 && system.life.underWay === 0) return
    if (performance.now() > giveUpAt)
      throw new Error(
        [`the server does not come to rest: ${system.life.underWay} calls under way`, ...unrest, ...system.logged.slice(-5)].join('\n'),
      )
  }
}

/** Nothing is under way, for a few turns. */
export async function untilQuiet({ life }: System, giveUpAt = performance.now() + PATIENCE_MS): Promise<void> {
  for (let quiet = 0; quiet < QUIET_TURNS; quiet = life.underWay === 0 ? quiet + 1 : 0) {
    await turn()
    if (performance.now() > giveUpAt) return
  }
}

async function whatIsUnderWay({ store, backend }: System): Promise<readonly string[]> {
  const { sessions, sandboxes } = await store.read(async (sql) => ({
    sessions: await sql.all(`SELECT id, state, running, drain_until, sandbox_id FROM sessions`),
    sandboxes: await sql.all(`SELECT id, state FROM sandboxes`),
  }))
  const hasTrouble = backend.trouble.destroy
  const isStuck = ({ sandbox_id: id }: Row) => hasTrouble && typeof id === 'string' && backend.refused.has(id)
  const unrest = sessions.filter((row) => row.state === 'pending' || (row.state === 'closing' && !isDraining(row) && !isStuck(row)))
  const bound = new Set(sessions.map((row) => row.sandbox_id))
  const running = new Set((await backend.list()).filter((each) => each.running).map(({ name }) => name))
  const adrift = sandboxes.filter((row) => !hasTrouble && (!bound.has(row.id ?? null) || row.state !== 'ready'))
  const lost = sessions.filter(
    (row) => typeof row.sandbox_id === 'string' && !running.has(row.sandbox_id) && !(isStuck(row) && row.running === 0),
  )
  return [...unrest, ...adrift, ...lost].map((row) => JSON.stringify(row))
}

function isDraining({ running, drain_until: until }: Row): boolean {
  return running !== 0 && until !== null
}
