/**
 * The files that every jail needs of our own, looked for before anything is tried.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { accessSync, constants } from 'node:fs'
import type { BackendNeeds, Probe } from '../../backend.ts'

/** `null` when all are there. */
export function missingFile(needs: BackendNeeds): Extract<Probe, { available: false }> | null {
  for (const path of [needs.launcherPath, needs.guestPath]) {
    try {
      accessSync(path, constants.X_OK)
    } catch {
      return { available: false, reason: `${path} is missing or not executable`, fix: 'build it with `npm run up`' }
    }
  }
  return null
}
