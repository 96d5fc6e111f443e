/**
 * Sandboxes that a server left behind when it was killed: found by name at the next start and destroyed.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * A backend lists only what carries its own server id, so another server's sandboxes are never seen here.
 */
import type { SandboxBackend } from './backend.ts'

/** Answers how many there were. */
export async function destroyOrphans(backend: SandboxBackend, signal?: AbortSignal): Promise<number> {
  const orphans = await backend.list(signal)
  await Promise.all(orphans.map(({ name }) => backend.destroy(name)))
  return orphans.length
}
