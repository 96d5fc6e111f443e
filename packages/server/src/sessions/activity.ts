/**
 * Work that is no execution (a file, forwarded bytes, input to a program), noted in memory and written down in time.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Written at most every ten seconds for each session, and always before the sweep looks, so that nothing idles out
 * because its activity was still in memory.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { SessionRef } from '../store/tables/sessions.ts'
import { SYSTEM } from './caller.ts'
import type { Changes } from './change.ts'
import { noteActivity } from './lifecycle/work.ts'

export interface Activity {
  /** Costs a map entry. */
  note(ref: SessionRef): void
  /** When it was last noted, while that is not in the store yet. */
  notedAt(sessionId: string): number | undefined
  /** Everything that is noted is in the store afterwards. */
  flush(): Promise<void>
}

export function createActivity(changes: Changes, clock: () => number): Activity {
  const noted = new Map<string, { readonly ref: SessionRef; readonly at: number }>()
  return {
    note(ref) {
      noted.set(ref.id, { ref, at: clock() })
    },
    notedAt: (sessionId) => noted.get(sessionId)?.at,
    async flush() {
      const taken = [...noted.values()]
      noted.clear()
      for (const { ref, at } of taken) {
        try {
          const context = { actor: SYSTEM, action: 'session.note-activity', durability: 'process' } as const
          await changes.change(ref, context, (session) => noteActivity(session, at))
        } catch (error) {
          // Purged meanwhile.
          if (!isHoldfastError(error, 'not_found')) throw error
        }
      }
    },
  }
}
