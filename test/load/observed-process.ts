/**
 * What the kernel keeps for the server: memory, descriptors by what they are, and the processes of its sandboxes.
 */
import { readdirSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { residentBytes } from '../../bench/process-status.ts'
import type { ServerProcess } from '../../bench/server-process.ts'
import { processesOf } from '../../packages/server/src/sandboxes/contract/traces.ts'

export interface ObservedProcess {
  memoryBytes(): number
  /** How many descriptors there are of each kind: `socket`, `pipe`, `anon_inode`, or files by name. */
  descriptors(): ReadonlyMap<string, number>
  /** Processes of its sandboxes, and around them. */
  sandboxProcesses(): readonly string[]
}

export function observedProcess({ pid, home }: ServerProcess): ObservedProcess {
  return {
    memoryBytes: () => residentBytes(pid),
    descriptors() {
      const kinds = new Map<string, number>()
      for (const name of readdirSync(`/proc/${pid}/fd`)) {
        const kind = kindOf(`/proc/${pid}/fd/${name}`)
        if (kind !== null) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      }
      return kinds
    },
    sandboxProcesses: () =>
      processesOf(basename(home))
        .filter((each) => each.pid !== pid)
        .map(({ command }) => command.slice(0, 120)),
  }
}

function kindOf(path: string): string | null {
  try {
    const target = readlinkSync(path)
    return /^(socket|pipe|anon_inode)/.exec(target)?.[1] ?? basename(target)
  } catch {
    return null // closed between listing and reading
  }
}

/** Kinds of which there are more than before, as `socket: 3 more`. */
export function surplus(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): readonly string[] {
  return [...after]
    .filter(([kind, count]) => count > (before.get(kind) ?? 0))
    .map(([kind, count]) => `${kind}: ${count - (before.get(kind) ?? 0)} more`)
}
