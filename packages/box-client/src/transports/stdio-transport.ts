/**
 * A Box server as a child process: messages as lines on its stdin and stdout, its log on our stderr.
 *
 * One message is written whole before the next begins, as the chunk lines of a long one may not be mixed with others.
 */
import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { BoxError, stdioLines, stdioReader } from '@holdfast/protocol/box'
import type { StdioReader } from '@holdfast/protocol/box'
import { systemClock } from '../clock.ts'
import type { BoxClock } from '../clock.ts'
import { reasonOf } from '../log.ts'
import { endChild } from './child-end.ts'
import type { OpenTransport } from './transport.ts'

export interface StdioCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  /** The child's whole environment: nothing is added to it but whose server it is. */
  readonly env: Readonly<Record<string, string | undefined>>
}

type Child = ChildProcessByStdio<Writable, Readable, null>

export function stdioTransport(plan: StdioCommand, clock: BoxClock = systemClock): OpenTransport {
  return async (receive, signal) => {
    signal.throwIfAborted()
    const child = spawn(plan.command, plan.args, {
      ...(plan.cwd === undefined ? {} : { cwd: plan.cwd }),
      ...{ env: plan.env, stdio: ['pipe', 'pipe', 'inherit'] as const },
    })
    const exited = exitOf(child)
    await started(child, plan.command)
    const broken = read(child, stdioReader(), receive)
    const ended = Promise.race([exited, broken])
    let last: Promise<void> = Promise.resolve()
    let closing: Promise<void> | undefined
    return {
      send(message) {
        const sent = last.then(() => write(child, stdioLines(message)))
        last = sent.catch(() => {})
        return sent
      },
      ended,
      close: () => (closing ??= endChild(child, exited, clock)),
    }
  }
}

function exitOf(child: Child): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  child.on('close', (code, killedBy) => resolve(`the Box server ended (${killedBy === null ? `exit code ${code}` : killedBy})`))
  return promise
}

async function started(child: Child, command: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.once('spawn', resolve)
  // Also later failures, such as a signal that cannot be sent: the exit tells what matters.
  child.on('error', (error) =>
    reject(new BoxError('BoxRuntimeUnavailableError', `cannot start the Box server "${command}": ${error.message}`, {}, { cause: error })),
  )
  // A server that ends while it is written to is no error of ours; the exit says it.
  child.stdin.on('error', () => {})
  await promise
}

/** Settles when the child sends what cannot be told apart any more, or closes its stdout. */
function read(child: Child, reader: StdioReader, receive: (message: string) => void): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  child.stdout.on('data', (bytes: Buffer) => {
    try {
      for (const message of reader.push(bytes)) receive(message)
    } catch (error) {
      child.stdout.destroy()
      resolve(`the Box server sent broken lines: ${reasonOf(error)}`)
    }
  })
  child.stdout.on('error', (error) => resolve(error.message))
  child.stdout.on('end', () => resolve('the Box server closed its output'))
  return promise
}

async function write(child: Child, lines: Iterable<string>): Promise<void> {
  for (const line of lines) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    child.stdin.write(line, (error) => (error instanceof Error ? reject(error) : resolve()))
    await promise
  }
}
