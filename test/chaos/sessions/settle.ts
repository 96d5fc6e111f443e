/**
 * Lets a server finish what it has to by itself: openings, clean-ups, removals, commands that end.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { connectInside } from '../../../packages/server/src/guest/guest-inside.ts'
import { runningExecutions } from '../../../packages/server/src/store/tables/executions.ts'
import { hostedSandboxes } from '../../../packages/server/src/store/tables/sandboxes.ts'
import { hostedSessions } from '../../../packages/server/src/store/tables/sessions.ts'
import type { ServerLife } from './server-life.ts'
import { PATIENCE_MS } from '../../servers/patience.ts'

/** Which executions will end by themselves: every command, one execution, or none. */
export type Awaited = 'commands' | `exe_${string}` | null

const POLL_MS = 10

/** Gives what is still under way after a patient wait; nothing, if all is well. */
export async function settle(life: ServerLife, awaited: Awaited): Promise<readonly string[]> {
  await life.plane.sessions.sweep()
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const pending = await underWay(life, awaited)
    if (pending.length === 0 || Date.now() > deadline) return pending
    await pause(POLL_MS)
  }
}

async function underWay(life: ServerLife, awaited: Awaited): Promise<readonly string[]> {
  const { store, home } = life
  const moving = await store.read(async (sql) => {
    const sessions = await hostedSessions(sql, home.serverId)
    const inMotion = sessions.filter(({ state }) => state === 'pending' || state === 'closing')
    const bound = new Set(sessions.map(({ sandboxId }) => sandboxId))
    const leaving = (await hostedSandboxes(sql, home.serverId)).filter(({ id, state }) => state !== 'ready' || !bound.has(id))
    const commands = []
    for (const { id } of sessions) {
      const running = await runningExecutions(sql, id)
      // One that is being cancelled ends, whoever waits for it.
      commands.push(
        ...running.filter(
          ({ id: execution, kind, cancelAt }) => cancelAt !== null || (awaited === 'commands' ? kind === 'command' : awaited === execution),
        ),
      )
    }
    return [
      ...inMotion.map(({ id, state }) => `the session ${id} stays ${state}`),
      ...sessions
        .filter(({ credentials }) => credentials.some(({ removal }) => removal !== null))
        .map(({ id }) => `a credential of the session ${id} stays half removed`),
      ...leaving.map(({ id, state }) => `the sandbox ${id} stays ${state}`),
      ...commands.map(({ id }) => `the command ${id} stays running`),
    ]
  })
  return moving.length > 0 ? moving : unnoticedEnds(life)
}

/** Programs whose end the guest knows and the store does not. */
async function unnoticedEnds({ store, home, backend }: ServerLife): Promise<readonly string[]> {
  const sessions = (await store.read((sql) => hostedSessions(sql, home.serverId))).filter(({ running }) => running > 0)
  const unnoticed: string[] = []
  for (const { id, sandboxId } of sessions) {
    const inside = await connectInside(await (await backend.attach(sandboxId ?? '')).dial())
    const alive = (await inside.processes.list()).filter(({ state }) => state === 'running').map(({ tag }) => tag)
    inside.close()
    const running = await store.read((sql) => runningExecutions(sql, id))
    unnoticed.push(
      ...running.filter((execution) => !alive.includes(execution.id)).map((execution) => `the end of ${execution.id} stays unnoticed`),
    )
  }
  return unnoticed
}
