/**
 * Limits as files: what the wished limits become in each cgroup of a sandbox.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * The launcher makes the directories and writes the files before it lets the jail join, so that the limits hold from
 * the first instruction.
 */
import { join } from 'node:path'
import type { Limits } from '../../spec.ts'
import { tcpBufferBytes } from '../tcp-buffers.ts'
import { CONTROLLERS, isPlace, type CgroupLayout, type CgroupPlace, type Controller } from './cgroup-layout.ts'

export interface LimitFile {
  readonly file: string
  readonly value: string
  /** Not on every kernel, and nothing is weaker without it. */
  readonly optional: boolean
}

export interface SandboxCgroup {
  readonly directory: string
  /** Where programs inside look for it; `null` for one that has no limits. */
  readonly shownAt: string | null
  readonly files: readonly LimitFile[]
}

const CPU_PERIOD_USEC = 100_000

/**
 * The cgroups of one sandbox: one per limited controller, and one in any case where there is any, so that destroy
 * finds every process. `helperProcesses` are ours, outside the sandbox's pid namespace but in its cgroup. One that is to be
 * `freezable` also has a cgroup that can be frozen, where the host has a place for it.
 */
export function sandboxCgroups(
  layout: CgroupLayout,
  name: string,
  limits: Limits,
  helperProcesses: number,
  isFreezable = false,
): readonly SandboxCgroup[] {
  const wished: Readonly<Record<Controller, number | null>> = {
    memory: limits.memoryBytes,
    pids: limits.pids === null ? null : limits.pids + helperProcesses,
    cpu: limits.cpus,
  }
  const byDirectory = new Map<string, SandboxCgroup>()
  const add = (controller: Controller, place: CgroupPlace, files: readonly LimitFile[]) => {
    const directory = join(place.parent, name)
    const shownAt = place.version === 2 ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controller}`
    byDirectory.set(directory, { directory, shownAt, files: [...(byDirectory.get(directory)?.files ?? []), ...files] })
  }
  for (const controller of CONTROLLERS) {
    const place = layout[controller]
    const value = wished[controller]
    if (isPlace(place) && value !== null) add(controller, place, limitFiles(controller, place.version, value))
  }
  const { freezer = null } = layout
  if (isFreezable && freezer !== null) {
    const directory = join(freezer.parent, name)
    if (!byDirectory.has(directory)) byDirectory.set(directory, { directory, shownAt: null, files: [] })
  }
  if (byDirectory.size > 0) return [...byDirectory.values()]
  for (const controller of CONTROLLERS) {
    const place = layout[controller]
    if (byDirectory.size === 0 && isPlace(place)) add(controller, place, [])
  }
  return [...byDirectory.values()]
}

function limitFiles(controller: Controller, version: 1 | 2, value: number): readonly LimitFile[] {
  switch (controller) {
    case 'pids':
      return [required('pids.max', value)]
    case 'cpu': {
      const quota = Math.round(value * CPU_PERIOD_USEC)
      return version === 2
        ? [required('cpu.max', `${quota} ${CPU_PERIOD_USEC}`)]
        : [required('cpu.cfs_period_us', CPU_PERIOD_USEC), required('cpu.cfs_quota_us', quota)]
    }
    case 'memory':
      // Swap is off: without it a limit of memory is a limit of memory. Out of memory, the kernel ends the largest process, not the sandbox.
      return version === 2
        ? [required('memory.max', value), optional('memory.swap.max', 0)]
        : [
            required('memory.limit_in_bytes', value),
            optional('memory.memsw.limit_in_bytes', value),
            optional('memory.swappiness', 0),
            optional('memory.kmem.tcp.limit_in_bytes', tcpBufferBytes(value)),
          ]
  }
}

function required(file: string, value: number | string): LimitFile {
  return { file, value: String(value), optional: false }
}

function optional(file: string, value: number | string): LimitFile {
  return { file, value: String(value), optional: true }
}
