/**
 * Why a command failed: the limit that it reached, where a counter of the kernel or a full file system proves it.
 *
 * Asked only about commands that failed. A sandbox that several sessions share has one set of counters for all of them, so there only
 * the timeout and the workspace are proved.
 */
import type { CauseCode, ExecutionCause } from '@holdfast/protocol'
import type { ExecExit, Inside } from '../../guest/inside.ts'
import type { LimitCounters } from '../../sandboxes/limit-counters.ts'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import type { CompleteWish, SessionRow } from '../../store/tables/sessions.ts'

/** What is known of a command from its start. */
export interface CauseEvidence {
  readonly timeoutMs: number | null
  readonly options: CompleteWish
  readonly isPacked: boolean
  /** When it started; `null`: not known. */
  readonly before: LimitCounters | null
}

export function evidenceOf({ wish, packUid }: SessionRow, live: LiveSandbox, timeoutMs: number | null): CauseEvidence {
  return { timeoutMs, options: wish, isPacked: packUid !== null, before: live.limitCounters.recent() }
}

/** A directory whose file system has a bound of its own. */
interface BoundedDirectory {
  readonly code: Extract<CauseCode, 'tmp_full' | 'home_full' | 'workspace_full'>
  readonly path: string
  readonly name: string
  readonly limit: number
  readonly setting: string
  readonly serverSetting: string
}

/** Less than a page: no program can write anything there. */
const FULL_BYTES = 4_096

/** `null`: it did not fail, it was cancelled, or nothing proves why. */
export async function causeOf(exit: ExecExit, live: LiveSandbox, evidence: CauseEvidence): Promise<ExecutionCause | null> {
  const { timeoutMs, options, isPacked } = evidence
  if (exit.timedOut) return timeoutMs === null ? null : timeoutCause(timeoutMs)
  if (exit.killed || exit.exitCode === 0 || isPacked) return null
  return (await limitCause(live, evidence)) ?? fullCause(live, boundedDirectories(options))
}

/** The kernel counts one of these for each process that it killed and each fork that it refused. */
async function limitCause(live: LiveSandbox, { options, before }: CauseEvidence): Promise<ExecutionCause | null> {
  const after = await live.limitCounters.latest()
  const { memory_bytes: memoryBytes = null, pids = null } = options.limits ?? {}
  if (before === null || after === null) return null
  if (memoryBytes !== null && after.oomKills > before.oomKills)
    return {
      ...{ code: 'out_of_memory', limit: memoryBytes, setting: 'limits.memory_bytes' },
      message: `the sandbox reached its memory limit of ${sizeText(memoryBytes)}, and the kernel killed a process in it; raise limits.memory_bytes (limits.memory of the server)`,
    }
  if (pids !== null && after.refusedForks > before.refusedForks)
    return {
      ...{ code: 'process_limit', limit: pids, setting: 'limits.pids' },
      message: `the sandbox reached its limit of ${pids} processes and threads, and the kernel refused to start another; raise limits.pids`,
    }
  return null
}

/** Without a bound of its own, a home or a workspace is watched by others, and reported by them. */
function boundedDirectories({ limits, workspace, mounts = [] }: CompleteWish): readonly BoundedDirectory[] {
  const limit = limits?.tmp_bytes
  if (limit === undefined) return []
  const tmp = { limit, setting: 'limits.tmp_bytes', serverSetting: 'limits.tmp' }
  const all: readonly BoundedDirectory[] = [
    { code: 'tmp_full', path: '/tmp', name: '/tmp', ...tmp },
    { code: 'home_full', path: '/home/user', name: 'the home', ...tmp },
    ...(workspace?.mode === 'none' ? [{ code: 'workspace_full', path: '/workspace', name: 'the workspace', ...tmp } as const] : []),
  ]
  return all.filter(({ path }) => !mounts.some(({ target }) => target === path))
}

async function fullCause(live: LiveSandbox, directories: readonly BoundedDirectory[]): Promise<ExecutionCause | null> {
  try {
    const { inside } = live
    const areFull = await Promise.all(directories.map((directory) => isFull(inside, directory)))
    const full = directories[areFull.indexOf(true)]
    if (full === undefined) return null
    const { code, limit, setting, serverSetting, name } = full
    const message = `${name} is full: it holds ${sizeText(limit)}; remove files, or raise ${setting} (${serverSetting} of the server)`
    return { code, limit, setting, message }
  } catch {
    // Decision: a guest that does not answer proves nothing, and the command has its end anyway.
    return null
  }
}

/** The size tells the bounded file system from one that lies on a disk of the host. */
async function isFull(inside: Inside, { path, limit }: BoundedDirectory): Promise<boolean> {
  const { diskTotalBytes, diskUsedBytes } = await inside.stats({ path })
  return diskTotalBytes - diskUsedBytes < FULL_BYTES && Math.abs(diskTotalBytes - limit) < FULL_BYTES
}

function timeoutCause(timeoutMs: number): ExecutionCause {
  const message = `the command ran for its timeout of ${timeoutMs / 1000} s and was killed; give it a larger timeout_ms, or leave it running as an execution or a named process`
  return { code: 'timeout', limit: timeoutMs, setting: 'timeout_ms', message }
}

/** For one that was stopped because the workspace held more than its bound. */
export function workspaceCause({ wish: { limits } }: Pick<SessionRow, 'wish'>): ExecutionCause | null {
  const limit = limits?.workspace_bytes ?? null
  if (limit === null) return null
  const message = `the workspace held more than its bound of ${sizeText(limit)} or more files than allowed, so the command was stopped; remove files, or raise limits.workspace_bytes (limits.workspace of the server)`
  return { code: 'workspace_full', limit, setting: 'limits.workspace_bytes', message }
}

function sizeText(bytes: number): string {
  const power = Math.min(4, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const amount = bytes / 1024 ** power
  return `${Number.isInteger(amount) ? amount : amount.toFixed(1)} ${['bytes', 'KiB', 'MiB', 'GiB', 'TiB'][power] ?? 'bytes'}`
}
