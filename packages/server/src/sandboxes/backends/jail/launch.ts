/**
 * One run of the launcher: a plan in, a running sandbox or a reason out.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { spawn } from 'node:child_process'
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import type { SandboxCgroup } from './cgroup-limits.ts'

export interface LaunchPlan {
  readonly launcherPath: string
  readonly stateDirectory: string
  readonly cgroups: readonly SandboxCgroup[]
  readonly openFiles: number
  /** Path of slirp4netns, or `null` for no network. */
  readonly networkProgram: string | null
  /** Sources and where they are staged. */
  readonly stagingFlags: readonly string[]
  /** Which user and id map, and how the first process is found. */
  readonly jailFlags: readonly string[]
  /** The jail program with all of its arguments. */
  readonly argv: readonly string[]
}

const Report = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), pid: z.int(), starttime: z.int() }),
  z.object({ ok: z.literal(false), stage: z.string(), reason: z.string() }),
])

const MAX_REPORT_BYTES = 64 * 1024

export function launcherArguments(plan: LaunchPlan, serverPid: number): readonly string[] {
  return [
    ...['--parent', String(serverPid), '--state-directory', plan.stateDirectory, '--open-files', String(plan.openFiles)],
    ...plan.cgroups.flatMap(cgroupFlags),
    ...plan.stagingFlags,
    ...plan.jailFlags,
    ...(plan.networkProgram === null ? [] : ['--network-program', plan.networkProgram]),
    '--',
    ...plan.argv,
  ]
}

/** Resolves once the guest inside speaks. What was started before a failure is for the caller to destroy. */
export async function launch(plan: LaunchPlan, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  const { output, status } = await run(plan.launcherPath, launcherArguments(plan, process.pid), signal)
  signal?.throwIfAborted()
  const report = Report.safeParse(parseJson(output))
  if (!report.success) throw new HoldfastError('backend_unavailable', `the launcher ended without a report (${status})`)
  if (report.data.ok) return
  const { stage, reason } = report.data
  throw new HoldfastError(stage === 'mount' ? 'mount_refused' : 'backend_unavailable', `the sandbox did not start (${stage}): ${reason}`, {
    stage,
  })
}

function cgroupFlags({ directory, files }: SandboxCgroup): readonly string[] {
  return ['--cgroup', directory, ...files.flatMap(({ file, value, optional }) => [optional ? '--optional-limit' : '--limit', file, value])]
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
