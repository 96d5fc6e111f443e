/**
 * Commands, run in the system's sessions.
 */
import { join } from 'node:path'
import type { SessionView } from '@holdfast/protocol'
import { isHoldfastError } from '@holdfast/protocol'
import type { Command } from '../../packages/server/src/sessions/executions/command.ts'
import type { Action, Expect } from './actions.ts'
import { findOwner } from './owners.ts'
import type { Answer } from './possibility.ts'
import { noticeWords } from './notice-words.ts'
import type { System } from './system.ts'
import type { World } from './world.ts'

const NEVER = new AbortController().signal
const TIMEOUT_MS = 15
const LONG = '1000'
/** A wrong incarnation is one that no change nearby makes right. */
const FAR = 1000

export async function performRun(
  system: System,
  world: World,
  index: number,
  action: Extract<Action, { readonly type: 'run' }>,
): Promise<Answer> {
  const number = world.executionsMade + 1
  const { id, caller, request } = await target(system, world, index, action.expect)
  const command = commandOf(system, world, index, number, action.how)
  try {
    return await system.plane.sessions.commands.run(caller, { id }, { ...request, command }, NEVER, async (started) => {
      system.executionIds.set(number, started.executionId)
      let printed = ''
      const { status, exitCode } = await started.finish(({ bytes }) => void (printed += bytes.toString()))
      const isRight = action.how === 'timeout' || printed === `said ${number}\n`
      return `ran ${number}, ${status} ${exitCode}, ${toldIn(started.session)}${isRight ? '' : `, but printed ${printed}`}`
    })
  } catch (error) {
    if (isHoldfastError(error, 'command_not_started')) await learnNewest(system, id, number)
    throw error
  }
}

export async function performStart(
  system: System,
  world: World,
  index: number,
  action: Extract<Action, { readonly type: 'start' }>,
): Promise<Answer> {
  const number = world.executionsMade + 1
  const { id, caller, request } = await target(system, world, index, action.expect)
  const argv = ['sh', '-c', `echo $$ > "$0"; exec sleep ${LONG}`, join(system.scratch, `${number}.pid`)]
  const command = { argv, cwd: cwdOf(system, world, index) }
  const named = action.name === null ? {} : { name: action.name }
  const { executionId, session } = await system.plane.sessions.commands.start(caller, { id }, { ...request, ...named, command }, NEVER)
  system.executionIds.set(number, executionId)
  return `started ${number}, ${toldIn(session)}`
}

async function target(system: System, world: World, index: number, expect: Expect) {
  const incarnation = world.sessions[index]?.incarnation ?? 0
  const expectedIncarnation = { nothing: undefined, right: incarnation, wrong: incarnation + FAR }[expect]
  const caller = await system.caller(findOwner(world, index))
  return { id: system.sessionIds[index] ?? '', caller, request: { expectedIncarnation } }
}

function commandOf(
  system: System,
  world: World,
  index: number,
  number: number,
  how: Extract<Action, { readonly type: 'run' }>['how'],
): Command {
  const cwd = cwdOf(system, world, index)
  const note = world.sessions[index]?.isPacked ? '' : `echo ${number} >> log; `
  switch (how) {
    case 'missing':
      return { argv: ['no-such-program'], cwd }
    case 'timeout':
      return { argv: ['sleep', LONG], cwd, timeoutMs: TIMEOUT_MS }
    case 'background': {
      const left = `sleep ${LONG} > /dev/null 2>&1 & echo $! > ${join(system.scratch, `${number}.left`)}; `
      return { argv: ['sh', '-c', `${note}${left}echo said ${number}`], cwd }
    }
    case 'success':
    case 'failure':
      return { argv: ['sh', '-c', `${note}echo said ${number}; exit ${how === 'failure' ? 3 : 0}`], cwd }
  }
}

/** There is no mount namespace: the workspace is where it lies on the host. Packed users cannot reach theirs from outside. */
function cwdOf({ home, sessionIds }: System, world: World, index: number): string {
  return world.sessions[index]?.isPacked ? '/' : join(home.workspacesDir, sessionIds[index] ?? '', 'files')
}

function toldIn({ incarnation, workspace, notice }: SessionView): string {
  return `incarnation ${incarnation}, ${workspace}, notice ${noticeWords(notice ?? null)}`
}

async function learnNewest({ store, executionIds }: System, sessionId: string, number: number): Promise<void> {
  const rows = await store.read((sql) => sql.all(`SELECT id FROM executions WHERE session_id = ?`, sessionId))
  const known = new Set(executionIds.values())
  for (const { id } of rows) if (typeof id === 'string' && !known.has(id)) executionIds.set(number, id)
}
