/**
 * Bytes that come into a workspace from outside, counted as they come: they stop at the bound, and not after it.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { exceeds } from './usage.ts'
import type { Usage } from './usage.ts'

/** What one file costs beside its bytes. */
const BLOCK = 4096

export interface Intake {
  /** Fires when the workspace was found to be over its bound meanwhile; the reason is what to throw. */
  readonly refused: AbortSignal
  /** The same content, up to the bound; then it throws `no_space`. */
  counted(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  close(): void
}

/** Those of one workspace: they share what is left of it. */
export interface Intakes {
  readonly count: number
  /** Little may be left, as far as is known: measure before you open. */
  readonly isTight: boolean
  open(usage: Usage): Intake
  /** A measurement begins, and its figures are here: what came before it is in them. */
  measuring(): void
  measured(usage: Usage): void
  refuse(): void
}

export function createIntakes(bounds: Usage): Intakes {
  const open = new Set<AbortController>()
  let held: Usage = { bytes: 0, entries: 0, hidden: 0 }
  /** What came and is not in the figures; of that, what will be in the next ones. */
  let since = 0
  let seen = 0

  function take(bytes: number): void {
    since += bytes
    if (exceeds({ ...held, bytes: held.bytes + since }, bounds)) throw full(bounds)
  }

  return {
    get count() {
      return open.size
    },
    get isTight() {
      return held.bytes + since > bounds.bytes / 2 || held.entries >= bounds.entries
    },
    open(usage) {
      if (usage.entries >= bounds.entries) throw full(bounds)
      take(BLOCK)
      const controller = new AbortController()
      open.add(controller)
      return {
        refused: controller.signal,
        async *counted(content) {
          for await (const piece of content) {
            take(piece.length)
            yield piece
          }
        },
        close: () => open.delete(controller),
      }
    },
    measuring() {
      seen = since
    },
    measured(usage) {
      held = usage
      since -= seen
      seen = 0
    },
    refuse() {
      for (const controller of open) controller.abort(full(bounds))
    },
  }
}

function full(bounds: Usage): HoldfastError {
  return new HoldfastError(
    'no_space',
    `the workspace would hold more than its ${bounds.bytes} bytes or ${bounds.entries} entries; remove files first`,
    { limit: bounds.bytes },
  )
}
