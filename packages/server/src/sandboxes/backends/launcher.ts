/**
 * One run of the launcher: arguments in, nothing or a reason out.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { spawn } from 'node:child_process'
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import { DEFAULT_UID_RANGE, hostUsersOf } from '../host-users.ts'
import { sandboxUserOnHost } from '../sandbox-user.ts'
import { exchangedOwners } from './owner-map.ts'

const Report = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), pid: z.int(), starttime: z.int() }),
  z.object({ ok: z.literal(false), stage: z.string(), reason: z.string() }),
])

const MAX_REPORT_BYTES = 64 * 1024

/** In one sandbox; the machine has 4,096 unless its operator changed that. */
export const MOST_TERMINALS = 64

/** Throws `mount_refused` or `backend_unavailable` with the launcher's own reason. */
export async function runLauncher(launcherPath: string, argv: readonly string[], signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  const { output, status } = await run(launcherPath, argv, signal)
  signal?.throwIfAborted()
  const report = Report.safeParse(parseJson(output))
  if (!report.success) throw new HoldfastError('backend_unavailable', `the launcher ended without a report (${status})`)
  if (report.data.ok) return
  const { stage, reason } = report.data
  throw new HoldfastError(stage === 'mount' ? 'mount_refused' : 'backend_unavailable', `the sandbox did not start (${stage}): ${reason}`, {
    stage,
  })
}

/**
 * Neighbours in the sandbox whose first process this is no longer see each other's processes; the guest, by its group on the
 * host, still sees all. Only for a root server.
 */
export function hideProcesses(launcherPath: string, firstPid: number, guestGroup: number, signal?: AbortSignal): Promise<void> {
  return runLauncher(launcherPath, ['hide-processes', String(firstPid), String(guestGroup)], signal)
}

/** Bounds the terminals of the sandbox whose first process this is. */
export function limitTerminals(launcherPath: string, firstPid: number, signal?: AbortSignal): Promise<void> {
  return runLauncher(launcherPath, ['limit-terminals', String(firstPid), String(MOST_TERMINALS)], signal)
}

/** Mounts in the container whose first process this is: `words` are those of `container-mounts.ts`. Only for a root server. */
export function mountInContainer(
  launcherPath: string,
  { pid, starttime }: { readonly pid: number; readonly starttime: number },
  words: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  return runLauncher(launcherPath, ['mount-in-container', String(pid), String(starttime), ...words], signal)
}

/** Throws unless files in these directories can be shown as those of another owner. */
export function tryOwnerMap(launcherPath: string, sources: readonly string[], signal?: AbortSignal): Promise<void> {
  const { commands } = hostUsersOf(DEFAULT_UID_RANGE, '')
  return runLauncher(launcherPath, ['try-owner-map', exchangedOwners(sandboxUserOnHost().uid, commands), ...sources], signal)
}

/** Throws unless an overlay can be mounted over this directory with mapped owners, with its changes in the other. */
export function tryOverlay(launcherPath: string, lower: string, layer: string, signal?: AbortSignal): Promise<void> {
  const { commands } = hostUsersOf(DEFAULT_UID_RANGE, '')
  return runLauncher(launcherPath, ['try-overlay', exchangedOwners(0, commands), lower, layer], signal)
}

function run(
  program: string,
  argv: readonly string[],
  signal: AbortSignal | undefined,
): Promise<{ readonly output: string; readonly status: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ output: string; status: string }>()
  const launcher = spawn(program, argv, { stdio: ['ignore', 'pipe', 'ignore'], env: {}, cwd: '/' })
  const onAbort = () => void launcher.kill('SIGKILL')
  signal?.addEventListener('abort', onAbort, { once: true })
  let output = ''
  launcher.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < MAX_REPORT_BYTES) output += text
  })
  launcher.on('error', (error) =>
    reject(new HoldfastError('backend_unavailable', `cannot run the launcher ${program}`, {}, { cause: error })),
  )
  launcher.on('close', (code, killedBy) => {
    signal?.removeEventListener('abort', onAbort)
    resolve({ output, status: killedBy ?? `exit code ${code}` })
  })
  return promise
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The schema refuses it with a better sentence.
    return null
  }
}
