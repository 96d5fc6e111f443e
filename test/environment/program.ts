/**
 * Starting programs for the test environment: daemons with their output in a log file, and short commands whose output is wanted.
 */
import { execFile, spawn } from 'node:child_process'
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs'
import { dirname, basename, delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

const SYSTEM_DIRECTORIES = ['/usr/local/sbin', '/usr/sbin', '/sbin']
const POLL_MS = 50
const READY_LIMIT_MS = 60_000
const SHOWN_LOG_LINES = 5

/** Daemons look for their own helpers there, too. */
export const PATH = [process.env.PATH ?? '', ...SYSTEM_DIRECTORIES].join(delimiter)

export function findProgram(name: string, extraDirectories: readonly string[] = []): string | null {
  const paths = [...PATH.split(delimiter), ...extraDirectories].map((directory) => join(directory, name))
  return paths.find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Stdout of a command that succeeded. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { env: { ...process.env, PATH } })
  return stdout
}

export interface DaemonOptions {
  readonly logPath: string
  readonly isReady: () => Promise<boolean>
  readonly env?: NodeJS.ProcessEnv
}

/** In a session of its own, so that a Ctrl-C for the tests does not end it before the tests let go of it. */
export async function startDaemon(program: string, args: readonly string[], options: DaemonOptions): Promise<void> {
  const log = openSync(options.logPath, 'a')
  // Beside its log: an engine's monitor writes a file into its working directory when a container runs out of memory.
  const cwd = dirname(options.logPath)
  const child = spawn(program, args, { cwd, detached: true, stdio: ['ignore', log, log], env: { ...process.env, PATH, ...options.env } })
  closeSync(log)
  const ended = new AbortController()
  child.on('error', () => ended.abort())
  child.on('exit', () => ended.abort())
  child.unref()
  const deadlineMs = performance.now() + READY_LIMIT_MS
  while (!(await options.isReady())) {
    if (ended.signal.aborted) throw new Error(`${basename(program)} ended at once: ${lastLines(options.logPath)}`)
    if (performance.now() > deadlineMs)
      throw new Error(`${basename(program)} was not ready after ${READY_LIMIT_MS} ms: ${lastLines(options.logPath)}`)
    await delay(POLL_MS)
  }
}

function lastLines(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-SHOWN_LOG_LINES).join(' | ')
}
