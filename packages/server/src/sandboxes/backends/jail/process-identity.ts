/**
 * Processes named safely: a pid may be reused, a pid with its start time never is.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Reads procfs synchronously on purpose: it is memory, never a disk, and an asynchronous read costs ten times as much.
 */
import { readFileSync } from 'node:fs'
import { hasErrorCode } from '../../../home/error-code.ts'

export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks between boot and the start of the process: field 22 of `/proc/<pid>/stat`. */
  readonly starttime: number
}

/** State letter and start time from one line of `/proc/<pid>/stat`. */
export function parseProcessStat(line: string): { readonly state: string; readonly starttime: number } | null {
  // The name in field 2 may hold spaces and parentheses, so the fields are counted from the last one.
  const nameEnd = line.lastIndexOf(')')
  if (nameEnd < 0) return null
  const fields = line.slice(nameEnd + 2).split(' ')
  const state = fields[0]
  const starttime = Number(fields[19])
  if (state === undefined || !Number.isSafeInteger(starttime)) return null
  return { state, starttime }
}

/** The kernel's letter (`R`, `S`, `T`, `Z`, …), or `null` when the process is gone. */
export function stateOf(process: ProcessIdentity): string | null {
  const stat = readProcFile(`/proc/${process.pid}/stat`)
  const parsed = stat === null ? null : parseProcessStat(stat)
  return parsed === null || parsed.starttime !== process.starttime ? null : parsed.state
}

/** False for a zombie too: it runs nothing and holds nothing, and only its parent can remove it. */
export function isAlive(process: ProcessIdentity): boolean {
  const state = stateOf(process)
  return state !== null && state !== 'Z' && state !== 'X'
}

/** Does nothing when it is gone or the pid now belongs to another. */
export function signalProcess(identity: ProcessIdentity, signal: 'SIGKILL' | 'SIGSTOP'): void {
  if (isAlive(identity)) signalPid(identity.pid, signal)
}

/** To a pid that was just read, from a cgroup for example. Does nothing when it has ended since. */
export function signalPid(pid: number, signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!hasErrorCode(error, 'ESRCH')) throw error
  }
}

/** The children that a process has now. */
export function childrenOf(pid: number): readonly ProcessIdentity[] {
  const pids = readProcFile(`/proc/${pid}/task/${pid}/children`)?.trim().split(' ') ?? []
  return pids.filter(Boolean).map(Number).flatMap(identify)
}

/** The identity of a running pid, or nothing. */
export function identify(pid: number): readonly ProcessIdentity[] {
  const stat = readProcFile(`/proc/${pid}/stat`)
  const parsed = stat === null ? null : parseProcessStat(stat)
  return parsed === null ? [] : [{ pid, starttime: parsed.starttime }]
}

function readProcFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    // ESRCH: it ended between open and read.
    if (hasErrorCode(error, 'ENOENT', 'ESRCH')) return null
    throw error
  }
}
