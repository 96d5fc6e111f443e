/**
 * The near end of a server in another process.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Problem, SessionView } from '@holdfast/protocol'
import type { SessionRow } from '../../packages/server/src/store/tables/sessions.ts'
import type { Told } from './person.ts'
import type { Answer, Order } from './server-process.ts'
import type { ServerPlan } from './test-server.ts'

const PROGRAM = fileURLToPath(new URL('server-process.ts', import.meta.url))

/** What a server in another process refused. */
export class Refused extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.title)
    this.problem = problem
  }
}

export interface OtherProcess {
  readonly serverId: string
  readonly orphansDestroyed: number
  sh(key: string, script: string): Promise<Told>
  start(key: string, script: string): Promise<{ readonly executionId: string; readonly session: SessionView }>
  get(key: string): Promise<{ readonly session: SessionRow; readonly isNew: boolean }>
  sweep(): Promise<void>
  /** Its clock only. */
  pass(ms: number): Promise<void>
  stop(): void
  goOn(): void
  /** With SIGKILL. Safe to call twice. */
  kill(): Promise<void>
}

/** Resolves once it serves. `passedMs`: how far its clock is ahead. */
export async function startOtherProcess(plan: ServerPlan, passedMs = 0): Promise<OtherProcess> {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ ...plan, passedMs })], { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  const died = once(child, 'exit').then(() => {
    for (const { reject } of waiting.values()) reject(new Error('the server died'))
  })
  createInterface(child.stdout).on('line', (line) => {
    const answer: Answer = JSON.parse(line)
    const asked = waiting.get(answer.number)
    waiting.delete(answer.number)
    if ('value' in answer) asked?.resolve(answer.value)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other end is ours
    else asked?.reject(typeof answer.problem === 'string' ? new Error(answer.problem) : new Refused(answer.problem as Problem))
  })
  let number = 0
  const expectAnswer = (at: number) => {
    const asked = Promise.withResolvers<unknown>()
    asked.promise.catch(() => undefined)
    waiting.set(at, asked)
    return asked.promise
  }
  const ask = async <T>(order: Order): Promise<T> => {
    number += 1
    const answer = expectAnswer(number)
    child.stdin.write(`${JSON.stringify({ number, ...order })}\n`)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other end is ours
    return (await answer) as T
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other end is ours
  const { serverId, orphansDestroyed } = (await expectAnswer(0)) as Pick<OtherProcess, 'serverId' | 'orphansDestroyed'>
  return {
    serverId,
    orphansDestroyed,
    sh: (key, script) => ask({ do: 'sh', key, script }),
    start: (key, script) => ask({ do: 'start', key, script }),
    get: (key) => ask({ do: 'get', key }),
    sweep: () => ask({ do: 'sweep' }),
    pass: (ms) => ask({ do: 'pass', ms }),
    stop: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL')
      await died
    },
  }
}
