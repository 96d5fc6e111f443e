/**
 * Turns proofs into tests: excused ones are skipped with their reason, and so are those this machine cannot try.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { test } from 'vitest'
import type { Excuses, Proofs } from './subject.ts'
import { NotHere } from './subject.ts'

export function proveAll<Ground>(
  proofs: Proofs<Ground>,
  cannot: Excuses,
  tryOut: (prove: (ground: Ground) => Promise<void>) => Promise<void>,
): void {
  for (const [name, prove] of Object.entries(proofs)) {
    const reason = cannot[name]
    if (reason !== undefined) {
      test.skip(`${name} (cannot: ${reason})`)
      continue
    }
    test(name, async (context) => {
      try {
        await tryOut(prove)
      } catch (error) {
        if (error instanceof NotHere) context.skip(error.message)
        throw error
      }
    })
  }
}
