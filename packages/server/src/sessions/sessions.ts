/**
 * The table of sessions: one per key, in memory.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * No lock is shared by sessions: different keys create their sandboxes in parallel, and a warm command is one look into
 * a map. Sandboxes live as long as this server; workspaces stay on disk.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SandboxWish, SessionView } from '@holdfast/protocol'
import { randomId } from '../home/random-id.ts'
import { checkExecRequest, execRequest, startCommand } from './command.ts'
import type { Command, RunningCommand } from './command.ts'
import { SERVER_RESTARTED, Session } from './session.ts'
import type { SessionNeeds } from './session.ts'

export interface Started extends RunningCommand {
  readonly executionId: string
  readonly session: SessionView
}

export interface Sessions {
  /** Gets or makes the session's sandbox, starts the command in it and hands it to `attend`; idle again when that ends. */
  run<T>(key: string, wish: SandboxWish, command: Command, signal: AbortSignal, attend: (started: Started) => Promise<T>): Promise<T>
  readonly workCount: number
  /** Refuses new work, waits up to `drainMs` for what runs, then kills it; destroys every sandbox. */
  close(drainMs: number): Promise<void>
}

export type SessionsNeeds = Omit<SessionNeeds, 'onEmpty' | 'takePlace' | 'stopped'> & { readonly maxSandboxes: number }

export function createSessions({ maxSandboxes, ...needs }: SessionsNeeds): Sessions {
  const table = new Map<string, Session>()
  const stopped = new AbortController()
  let isStopping = false
  let placesTaken = 0
  let workCount = 0
  let onDrained: (() => void) | null = null

  const sessionNeeds: SessionNeeds = {
    ...needs,
    stopped: stopped.signal,
    takePlace() {
      if (placesTaken >= maxSandboxes)
        throw new HoldfastError('capacity_exhausted', `all ${maxSandboxes} places for sandboxes are taken`, { limit: maxSandboxes })
      placesTaken += 1
      return once(() => (placesTaken -= 1))
    },
    onEmpty: (key) => table.delete(key),
  }

  function sessionOf(key: string): Session {
    const known = table.get(key)
    if (known !== undefined) return known
    const made = new Session(key, sessionNeeds)
    table.set(key, made)
    return made
  }

  async function drain(drainMs: number): Promise<void> {
    if (workCount === 0) return
    const drained = Promise.withResolvers<void>()
    onDrained = drained.resolve
    const timer = setTimeout(drained.resolve, drainMs)
    await drained.promise
    clearTimeout(timer)
  }

  return {
    get workCount() {
      return workCount
    },
    async run(key, wish, command, signal, attend) {
      if (isStopping) throw new HoldfastError('server_stopping', 'the server is stopping and takes no new work')
      checkExecRequest(execRequest(command))
      workCount += 1
      const ended = eitherSignal(signal, stopped.signal)
      try {
        return await sessionOf(key).use(wish, ended.signal, async ({ sandbox, view }) => {
          const running = await startCommand(sandbox, command, ended.signal)
          return attend({ executionId: randomId('exe'), session: view, finish: running.finish })
        })
      } finally {
        ended.release()
        workCount -= 1
        if (workCount === 0) onDrained?.()
      }
    },
    async close(drainMs) {
      isStopping = true
      await drain(drainMs)
      stopped.abort()
      await Promise.all([...table.values()].map((session) => session.close(SERVER_RESTARTED)))
    },
  }
}

/** `AbortSignal.any` keeps every request's signal reachable from the long-lived one until it is collected; this lets go at once. */
function eitherSignal(request: AbortSignal, server: AbortSignal): { readonly signal: AbortSignal; release(): void } {
  const either = new AbortController()
  const abort = () => either.abort()
  if (request.aborted || server.aborted) abort()
  request.addEventListener('abort', abort, { once: true })
  server.addEventListener('abort', abort, { once: true })
  return {
    signal: either.signal,
    release() {
      request.removeEventListener('abort', abort)
      server.removeEventListener('abort', abort)
    },
  }
}

function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    action()
  }
}
