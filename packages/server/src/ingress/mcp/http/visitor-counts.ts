/**
 * How many of something there are, in all and for each who asks, so that nobody takes what is there for everybody.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'

export interface VisitorCounts {
  readonly size: number
  /** Throws `capacity_exhausted`. Gives what ends it; twice is fine. */
  enter(visitor: string): () => void
}

export interface VisitorCountsRules {
  /** In plural, for a sentence. */
  readonly what: string
  readonly perVisitor: number
  readonly inAll?: number
}

export function visitorCounts({ what, perVisitor, inAll = Infinity }: VisitorCountsRules): VisitorCounts {
  const counts = new Map<string, number>()
  let size = 0

  function leave(visitor: string): void {
    size -= 1
    const left = (counts.get(visitor) ?? 1) - 1
    if (left === 0) counts.delete(visitor)
    else counts.set(visitor, left)
  }

  return {
    get size() {
      return size
    },
    enter(visitor) {
      const own = counts.get(visitor) ?? 0
      if (own >= perVisitor) throw new HoldfastError('capacity_exhausted', `you have ${own} ${what} already`, { limit: perVisitor })
      if (size >= inAll) throw new HoldfastError('capacity_exhausted', `there are ${size} ${what} already`, { limit: inAll })
      counts.set(visitor, own + 1)
      size += 1
      let isThere = true
      return () => {
        if (isThere) leave(visitor)
        isThere = false
      }
    },
  }
}
