/**
 * One jail by one run of the launcher: a plan in, a running sandbox or a reason out.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { MOST_TERMINALS, runLauncher } from '../launcher.ts'
import type { SandboxCgroup } from './cgroup-limits.ts'

export interface LaunchPlan {
  readonly launcherPath: string
  readonly stateDirectory: string
  readonly cgroups: readonly SandboxCgroup[]
  readonly openFiles: number
  /** Path of slirp4netns, or `null` for no network. */
  readonly networkProgram: string | null
  /** Arguments that make the launcher root over subordinate ids first; none where it needs no other rights. */
  readonly subordinate: readonly string[]
  /** Sources and where they are staged. */
  readonly stagingFlags: readonly string[]
  /** Which user and id map, and how the first process is found. */
  readonly jailFlags: readonly string[]
  /** The jail program with all of its arguments. */
  readonly argv: readonly string[]
}

export function launcherArguments(plan: LaunchPlan, serverPid: number): readonly string[] {
  return [
    ...['--parent', String(serverPid), '--state-directory', plan.stateDirectory, '--open-files', String(plan.openFiles)],
    ...plan.cgroups.flatMap(cgroupFlags),
    ...plan.stagingFlags,
    ...plan.jailFlags,
    ...['--terminals', String(MOST_TERMINALS)],
    ...(plan.networkProgram === null ? [] : ['--network-program', plan.networkProgram]),
    '--',
    ...plan.argv,
  ]
}

/** Resolves once the guest inside speaks. What was started before a failure is for the caller to destroy. */
export function launch(plan: LaunchPlan, signal?: AbortSignal): Promise<void> {
  const own = plan.subordinate.length === 0 ? [] : [...plan.subordinate, plan.launcherPath]
  return runLauncher(plan.launcherPath, [...own, ...launcherArguments(plan, process.pid)], signal)
}

function cgroupFlags({ directory, files }: SandboxCgroup): readonly string[] {
  return ['--cgroup', directory, ...files.flatMap(({ file, value, optional }) => [optional ? '--optional-limit' : '--limit', file, value])]
}
