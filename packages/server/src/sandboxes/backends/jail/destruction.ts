/**
 * The end of a sandbox: every process dead, every cgroup removed, then the directory, so that a destroy that was cut
 * short can be repeated.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { setTimeout as pause } from 'node:timers/promises'
import { HoldfastError } from '@holdfast/protocol'
import { removeCgroups } from './cgroup-removal.ts'
import { childrenOf, isAlive, signalProcess, stateOf, type ProcessIdentity } from './process-identity.ts'
import { removeStateDirectory, type SandboxState } from './state-directory.ts'

const DEATH_DEADLINE_MS = 10_000
const LONGEST_PAUSE_MS = 20

export async function destroySandbox(stateDir: string, name: string, state: SandboxState | null): Promise<void> {
  if (state !== null) {
    const processes = await processesOf(state)
    for (const process of processes) signalProcess(process, 'SIGKILL')
    await removeCgroups(state.record.cgroups)
    await untilDead(name, processes)
  }
  await removeStateDirectory(stateDir, name)
}

/** The first process inside comes first: with it the kernel ends everything in its pid namespace. */
async function processesOf({ processes }: SandboxState): Promise<readonly ProcessIdentity[]> {
  const inits = processes.filter((process) => process.role === 'init')
  const others = processes.filter((process) => process.role !== 'init')
  if (inits.length > 0) return [...inits, ...others]
  // A launcher that was killed left it off the record: it is the monitor's child, and a stopped monitor makes no other.
  const monitors = others.filter((process) => process.role === 'monitor')
  const children = await Promise.all(monitors.map(async (monitor) => ((await isStopped(monitor)) ? childrenOf(monitor.pid) : [])))
  return [...children.flat(), ...others]
}

/** False when it is gone. */
async function isStopped(process: ProcessIdentity): Promise<boolean> {
  signalProcess(process, 'SIGSTOP')
  const deadline = Date.now() + DEATH_DEADLINE_MS
  while (stateOf(process) !== 'T' && isAlive(process) && Date.now() < deadline) await pause(1)
  return isAlive(process)
}

async function untilDead(name: string, processes: readonly ProcessIdentity[]): Promise<void> {
  const deadline = Date.now() + DEATH_DEADLINE_MS
  for (let pauseMs = 1; processes.some(isAlive); pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    if (Date.now() > deadline)
      throw new HoldfastError('internal', `a process of ${name} is still there ${DEATH_DEADLINE_MS} ms after it was killed`, { name })
    await pause(pauseMs)
  }
}
