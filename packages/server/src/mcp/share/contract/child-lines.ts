/**
 * A child process as the lines of a server, for tests.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ServerLines } from '../server-lines.ts'

export interface ChildLines extends ServerLines {
  readonly child: ChildProcess
}

export function everythingLines(era: 'legacy' | 'modern'): ChildLines {
  return childLines([join(import.meta.dirname, 'everything-program.ts'), era])
}

/** Of a Node program; `-e` and its text are fine. */
export function childLines(args: readonly string[]): ChildLines {
  const child = spawn(process.execPath, [...args], { stdio: ['pipe', 'pipe', 'ignore'] })
  const chunks: AsyncIterator<Buffer> = child.stdout[Symbol.asyncIterator]()
  const ended: Promise<unknown> = once(child, 'exit').then(([exitCode, signal]) => ({ exitCode, signal }))
  child.stdin.on('error', () => {})
  return {
    child,
    async next() {
      const { done, value } = await chunks.next()
      return done === true ? null : value
    },
    async write(pieces) {
      if (!child.stdin.write(Buffer.concat(pieces))) await Promise.race([once(child.stdin, 'drain'), ended])
    },
    ended,
    close: () => void child.kill('SIGKILL'),
  }
}
