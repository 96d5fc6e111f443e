/**
 * What the operations of the crash matrix are made of: sessions, commands whose end can be proved from their journal, and waiting.
 *
 * A journal command notes in its workspace that it began and that it came to its end, and exits with 7: so whatever a server says of it
 * later can be compared with what really happened.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../../../packages/server/src/sessions/caller.ts'
import type { Command } from '../../../packages/server/src/sessions/executions/command.ts'
import type { SessionRequest } from '../../../packages/server/src/sessions/getting.ts'
import { sandboxesOfSession } from '../../../packages/server/src/store/tables/sandboxes.ts'
import type { SessionRow } from '../../../packages/server/src/store/tables/sessions.ts'
import type { ServerLife } from './server-life.ts'

export const JOURNAL_EXIT_CODE = 7
/** Longer than any test takes; one that is over only by the end of the machine would be taken for a leak. */
const ENDLESS = 'while :; do sleep 0.2; done'
const POLL_MS = 5

export function journalCommand(seconds = 0.05): Command {
  return shell(`echo begin >> journal; sleep ${seconds}; echo printed; echo end >> journal; exit ${JOURNAL_EXIT_CODE}`)
}

/** With a child that has left its group, as a daemon does. */
export function endlessCommand(): Command {
  return shell(`setsid sh -c '${ENDLESS}' & ${ENDLESS}`)
}

export function shell(script: string): Command {
  return { argv: ['/bin/sh', '-c', script] }
}

export function requestOf({ plane }: ServerLife, key: string, more: Partial<SessionRequest> = {}): SessionRequest {
  return { key: plane.scopes.resolveKey(key), wish: {}, ...more }
}

export function never(): AbortSignal {
  return new AbortController().signal
}

/** A session with a sandbox that answers. */
export async function readySession(life: ServerLife, key: string, more: Partial<SessionRequest> = {}): Promise<SessionRow> {
  const { session } = await life.plane.sessions.getOrCreate(life.caller, requestOf(life, key, more), never())
  return untilState(life, session.id, 'idle', 'active')
}

export async function untilState(life: ServerLife, id: string, ...states: readonly SessionRow['state'][]): Promise<SessionRow> {
  for (;;) {
    const session = await life.plane.sessions.reads.open(life.caller, 'read', id)
    if (states.includes(session.state)) return session
    await pause(POLL_MS)
  }
}

/** Every sandbox that was ever made for it is gone, and forgotten. */
export async function untilNoSandbox({ store }: ServerLife, sessionId: string): Promise<void> {
  while ((await store.read((sql) => sandboxesOfSession(sql, sessionId))).length > 0) await pause(POLL_MS)
}

export async function startCommand(life: ServerLife, sessionId: string, command: Command, name?: string): Promise<string> {
  const { executionId } = await life.plane.sessions.commands.start(life.caller, { id: sessionId }, { command, name }, never())
  return executionId
}

/** Runs it to its end. */
export async function runCommand(
  { plane }: ServerLife,
  caller: Caller,
  sessionId: string,
  command: Command,
  onStarted: (executionId: string) => void = () => undefined,
) {
  return plane.sessions.commands.run(caller, { id: sessionId }, { command }, never(), async ({ executionId, finish }) => {
    onStarted(executionId)
    const end = await finish(() => undefined)
    return { executionId, ...end }
  })
}

/** What callers were told is in the database then. */
export async function untilWritten({ store }: ServerLife): Promise<void> {
  await store.read(async () => undefined)
}

/** Until it has printed so much. */
export async function untilPrinted(life: ServerLife, sessionId: string, executionId: string, bytes: number): Promise<void> {
  for (;;) {
    const output = await life.plane.sessions.commands.output(life.caller, sessionId, executionId)
    if (output.seq >= bytes) return
    await pause(POLL_MS)
  }
}
