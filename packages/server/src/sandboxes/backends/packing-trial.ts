/**
 * Can this server pack sessions at all? Found out by looking and by really hiding a process.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import { isServerRoot } from '../sandbox-user.ts'
import { runLauncher } from './launcher.ts'

/** Why not, and what would change it, or `null`. */
export async function packingProblem(launcherPath: string, signal?: AbortSignal, isRoot = isServerRoot()): Promise<string | null> {
  if (!isRoot) return 'only root can give each session a uid and directories of its own; start the server as root'
  try {
    await runLauncher(launcherPath, ['try-hiding'], signal)
    return null
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    return `processes cannot be hidden from each other here; run the server with all capabilities on Linux 5.2 or newer (${error.message})`
  }
}
