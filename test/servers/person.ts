/**
 * Somebody who uses a server: asks for sessions by a key and runs shell lines in them.
 */
import type { SessionView } from '@holdfast/protocol'
import { DEFAULT_TENANT_ID } from '../../packages/server/src/access/principal.ts'
import type { Principal } from '../../packages/server/src/access/principal.ts'
import type { Caller } from '../../packages/server/src/sessions/caller.ts'
import type { Command } from '../../packages/server/src/sessions/executions/command.ts'
import type { Got, SessionRequest } from '../../packages/server/src/sessions/getting.ts'
import type { CommandEnd } from '../../packages/server/src/sessions/executions/executions.ts'
import type { RunRequest, Started } from '../../packages/server/src/sessions/running.ts'
import type { ExecutionRow } from '../../packages/server/src/store/tables/executions.ts'
import type { TestServer } from './test-server.ts'

/** What a command printed and how it ended. */
export interface Told extends CommandEnd {
  readonly executionId: string
  readonly session: SessionView
  readonly stdout: string
  readonly stderr: string
}

export type Ask = Partial<Omit<SessionRequest, 'key'>>
/** A key, or the id of a session. */
export type Where = string | { readonly id: string }
export type More = Partial<Omit<Command, 'argv'>> & Omit<RunRequest, 'command'> & { readonly ask?: Ask; readonly signal?: AbortSignal }

export interface Person {
  readonly caller: Caller
  /** What this one asks for, as the sessions take it. */
  request(key: string, ask?: Ask): SessionRequest
  get(key: string, ask?: Ask): Promise<Got>
  sh(where: Where, script: string, more?: More): Promise<Told>
  /** Leaves it running. */
  start(where: Where, script: string, more?: More): Promise<{ readonly executionId: string; readonly session: SessionView }>
  /** Hands it to `attend` while it runs. */
  attend<T>(where: Where, script: string, attend: (started: Started) => Promise<T>, more?: More): Promise<T>
  /** Waits for its stored end. */
  ended(sessionId: string, executionId: string): Promise<ExecutionRow>
  /** What is kept of its output, as text. */
  printed(sessionId: string, executionId: string, after?: number): Promise<string>
}

export function principal(subject: string, differs: Partial<Principal> = {}): Principal {
  return { tenantId: DEFAULT_TENANT_ID, subject, groups: [], role: 'member', kind: 'user', keyId: null, onBehalfOf: null, ...differs }
}

export async function personOf(server: TestServer, who: Principal = principal('alice')): Promise<Person> {
  const { sessions, plane } = server
  const caller = await plane.callerOf(who)
  const request = (key: string, ask: Ask = {}): SessionRequest => ({ key: plane.scopes.resolveKey(key), wish: {}, ...ask })
  const targetOf = (where: Where, ask?: Ask) => (typeof where === 'string' ? request(where, ask) : where)
  const run: Person['attend'] = (
    where,
    script,
    attend,
    { ask, signal = new AbortController().signal, name, expectedIncarnation, executionId, alongside, ...command } = {},
  ) =>
    sessions.commands.run(
      caller,
      targetOf(where, ask),
      { command: { argv: ['/bin/sh', '-c', script], ...command }, name, expectedIncarnation, executionId, alongside },
      signal,
      attend,
    )
  return {
    caller,
    request,
    get: (key, ask) => sessions.getOrCreate(caller, request(key, ask), new AbortController().signal),
    attend: run,
    sh: (where, script, more) =>
      run(
        where,
        script,
        async ({ executionId, session, finish }) => {
          const printed = { stdout: '', stderr: '' }
          const end = await finish(({ channel, bytes }) => void (printed[channel] += bytes.toString('utf8')))
          // Tests move the clock: whoever reads reads after its end, at the time when it ended.
          await server.store.read(async () => undefined)
          return { executionId, session, ...printed, ...end }
        },
        more,
      ),
    start: (where, script, { ask, signal = new AbortController().signal, name, expectedIncarnation, ...command } = {}) =>
      sessions.commands.start(
        caller,
        targetOf(where, ask),
        { command: { argv: ['/bin/sh', '-c', script], ...command }, name, expectedIncarnation },
        signal,
      ),
    async ended(sessionId, executionId) {
      const output = await sessions.commands.output(caller, sessionId, executionId)
      // The log of a running one closes just before its end is stored, and the event of that follows.
      if ('follow' in output) for await (const _ of output.follow(output.seq)) continue
      for (;;) {
        const row = await sessions.commands.get(caller, sessionId, executionId)
        if (row.status !== 'running') return row
        await new Promise((resolve) => {
          setImmediate(resolve)
        })
      }
    },
    async printed(sessionId, executionId, after = 0) {
      const output = await sessions.commands.output(caller, sessionId, executionId)
      return Buffer.concat((await output.read(after)).chunks.map(({ bytes }) => bytes)).toString('utf8')
    },
  }
}
