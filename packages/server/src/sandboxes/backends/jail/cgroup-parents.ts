/**
 * The cgroups that all sandboxes of this server lie in: there while one is needed, gone with the last.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { prepareCgroup, type CgroupLayout } from './cgroup-layout.ts'
import { hasErrorCode } from '../../../home/error-code.ts'

export interface CgroupParents {
  /** Nothing removes the parents of these cgroups while the work goes on. */
  whileHeld<Result>(layout: CgroupLayout, cgroups: readonly string[], work: () => Promise<Result>): Promise<Result>
  /** Removes the parents of these cgroups unless another sandbox is in them or is being made. */
  release(cgroups: readonly string[]): void
}

export function createCgroupParents(): CgroupParents {
  let holders = 0
  const prepared = new Map<string, Promise<void>>()

  function prepare(layout: CgroupLayout, parent: string): Promise<void> {
    const known = prepared.get(parent)
    if (known !== undefined) return known
    const preparing = prepareCgroup(layout, parent)
    prepared.set(parent, preparing)
    preparing.catch(() => prepared.delete(parent))
    return preparing
  }

  return {
    async whileHeld(layout, cgroups, work) {
      holders += 1
      try {
        for (const parent of new Set(cgroups.map(dirname))) await prepare(layout, parent)
        return await work()
      } finally {
        holders -= 1
      }
    },
    release(cgroups) {
      if (holders > 0) return
      // Synchronous, so that nobody can begin to hold them in between; it is memory, not a disk.
      for (const parent of new Set([...prepared.keys(), ...cgroups.map(dirname)])) if (isRemoved(parent)) prepared.delete(parent)
    },
  }
}

function isRemoved(directory: string): boolean {
  try {
    rmdirSync(directory)
    return true
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return true
    if (hasErrorCode(error, 'EBUSY', 'ENOTEMPTY')) return false
    throw error
  }
}
