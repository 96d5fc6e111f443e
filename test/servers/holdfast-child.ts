/**
 * A program of Holdfast that serves, as a child: known by the address that it prints when it is ready, and ended in time.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const STOP_LIMIT_MS = 30_000
/** Of what it complained of, when it does not get ready. */
const SHOWN_LINES = 20

export interface ReadyChild {
  readonly child: ChildProcess
  readonly url: string
}

/** `args`: of Node, with the program among them. */
export async function startReady(args: readonly string[], env: NodeJS.ProcessEnv): Promise<ReadyChild> {
  const child = spawn(process.execPath, [...args], { stdio: ['ignore', 'pipe', 'pipe'], env })
  const complaint: string[] = []
  createInterface(child.stderr).on('line', (line) => void complaint.splice(0, complaint.push(line) - SHOWN_LINES))
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  createInterface(child.stdout).on('line', (line) => {
    const address = /^holdfast is ready at (http:\S+)/.exec(line)?.[1]
    if (address !== undefined) resolve(address)
  })
  child.once('close', () => reject(new Error(`the server ended before it was ready: ${complaint.join('\n')}`)))
  return { child, url: await promise }
}

/** One that does not stop when it is told to is killed, and that is a failure. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const closed = once(child, 'close')
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
  await closed
  clearTimeout(timer)
  if (signal === 'SIGTERM' && child.signalCode === 'SIGKILL') throw new Error(`the server did not stop within ${STOP_LIMIT_MS} ms`)
}
