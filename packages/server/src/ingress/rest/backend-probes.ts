/**
 * What the backends can do, looked at again only after a while: a probe may start programs and take seconds.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { probeAll } from '../../sandboxes/choose.ts'
import type { OpenBackend, ProbedBackend } from '../../sandboxes/choose.ts'

const REMEMBERED_MS = 30_000

export function rememberedProbes(open: OpenBackend, clock: () => number): () => Promise<readonly ProbedBackend[]> {
  let probed: Promise<readonly ProbedBackend[]> | null = null
  let probedAt = 0
  return () => {
    if (probed === null || clock() - probedAt > REMEMBERED_MS) {
      probedAt = clock()
      probed = probeAll(open)
    }
    return probed
  }
}
