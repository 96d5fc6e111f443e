/**
 * Marks of packages, remembered for a moment: a view may be filled before every command, and to look at every file each time costs milliseconds.
 *
 * Stands beside the flow.
 *
 * What the server changes is known at once, because it says so. What somebody changes by hand is seen a second later.
 */
import { markOf } from './walk-package.ts'

const MEMORY_MS = 1_000
const MEMORY_LIMIT = 10_000

export interface RecentMarks {
  of(packageRoot: string): Promise<string>
  /** Something changed: nothing that was looked at before counts, and neither does what is being looked at. */
  forget(): void
}

export function recentMarks(clock: () => number): RecentMarks {
  const known = new Map<string, { readonly mark: string; readonly at: number }>()
  let changes = 0
  return {
    async of(packageRoot) {
      const now = clock()
      const recent = known.get(packageRoot)
      if (recent !== undefined && now >= recent.at && now - recent.at < MEMORY_MS) return recent.mark
      const before = changes
      const mark = await markOf(packageRoot)
      if (known.size >= MEMORY_LIMIT) known.clear()
      if (before === changes) known.set(packageRoot, { mark, at: now })
      return mark
    },
    forget() {
      changes += 1
      known.clear()
    },
  }
}
