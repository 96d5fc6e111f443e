/**
 * The life after a death: recovers, is asked whether all that was said holds, and at last ends and forgets everything.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { isClosed } from '../../../packages/server/src/sessions/lifecycle/state.ts'
import { aftermathOf } from './aftermath.ts'
import type { Aftermath } from './aftermath.ts'
import { checkInvariants } from './invariants.ts'
import type { Facts } from './operation.ts'
import { openLife } from './server-life.ts'
import type { Ground, ServerLife } from './server-life.ts'
import { settle } from './settle.ts'
import type { Awaited } from './settle.ts'
import { tracesOf } from './traces.ts'
import { PATIENCE_MS } from '../../servers/patience.ts'

const TEN_YEARS_MS = 315_360_000_000
const POLL_MS = 20

export interface NextLife {
  readonly ground: Ground
  readonly homeName: string
  readonly facts: Facts
  /** Another server has taken its sessions over. */
  readonly isReplaced?: boolean
  check(aftermath: Aftermath): Promise<void>
}

/** Gives everything that is not as it must be. */
export async function liveOn(next: NextLife): Promise<readonly string[]> {
  const { ground, homeName, facts, check } = next
  const problems: string[] = []
  const life = await openLife(ground, { homeName, aheadMs: Number(facts['aheadMs'] ?? 0) })
  const aftermath = aftermathOf(life, facts, problems)
  try {
    problems.push(...(await settle(life, awaitedBy(facts))))
    await checkInvariants(aftermath)
    await check(aftermath)
    problems.push(...(await settle(life, awaitedBy(facts))))
    await checkInvariants(aftermath)
    problems.push(...(await endEverything(life, aftermath)), ...(await leftBehind(next, life)))
  } catch (error) {
    problems.push(`the check failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  } finally {
    await life.close()
  }
  return problems.length === 0 ? [] : [...problems, ...life.logged.filter((line) => !line.includes('"level":"info"'))]
}

/** `ends`: every command does, or the one of that id. */
function awaitedBy({ ends }: Facts): Awaited {
  return ends === true ? 'commands' : typeof ends === 'string' ? (ends as Awaited) : null
}

async function endEverything(life: ServerLife, { sessions, executions, expect }: Aftermath): Promise<readonly string[]> {
  const own = async () => (await sessions()).filter(({ serverId }) => serverId === life.home.serverId)
  for (const { id, state } of await own()) if (!isClosed(state)) await life.plane.sessions.steering.cancel(life.caller, id)
  const underWay = await settle(life, 'commands')
  for (const { id, state } of await own()) {
    expect(isClosed(state), `${id} is ${state} after its end was asked for`)
    for (const { id: execution, status } of await executions(id)) expect(status !== 'running', `${execution} runs in a closed session`)
  }
  life.wait(TEN_YEARS_MS)
  const deadline = Date.now() + PATIENCE_MS
  // Whoever asks while a sweep is under way gets the end of that one, which may have begun before this time.
  do await life.plane.sessions.sweep()
  while ((await own()).length > 0 && Date.now() < deadline)
  expect((await own()).length === 0, 'records are left after their time')
  return underWay
}

async function leftBehind({ ground, isReplaced = false }: NextLife, { home }: ServerLife): Promise<readonly string[]> {
  const deadline = Date.now() + PATIENCE_MS
  // Files of a session that another server has taken over stay: its own server cannot know whether they are wanted.
  const find = async () => (await tracesOf(ground, home)).filter((trace) => !isReplaced || !trace.startsWith('workspaces '))
  let traces = await find()
  for (; traces.length > 0 && Date.now() < deadline; traces = await find()) await pause(POLL_MS)
  return traces.map((trace) => `left behind: ${trace}`)
}
