/**
 * A program in a process of its own, and what it printed.
 */
import { execFile } from 'node:child_process'

export interface ProgramEnd {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number | string | null
}

const TIMEOUT_MS = 60_000

export function runProgram(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: TIMEOUT_MS, env: { PATH: process.env['PATH'], HOME: cwd, NO_COLOR: '1', ...env } }
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ stdout, stderr, exitCode: error === null ? 0 : (error.code ?? error.signal ?? null) })
    })
  })
}
