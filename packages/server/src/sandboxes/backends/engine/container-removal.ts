/**
 * Removing a container until it is gone.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '@holdfast/protocol'
import { refusalStatus, type EngineClient } from './engine-client.ts'

const MAX_ATTEMPTS = 100
const WAIT_MS = 50
const CALL_TIMEOUT_MS = 120_000

/** Fine for one that never was, and while another removal of it is under way: then it waits for that one. */
export async function removeContainer(client: EngineClient, containerName: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await client.removeContainer(containerName, AbortSignal.timeout(CALL_TIMEOUT_MS)).catch((error: unknown) => {
      // A mount or a process that is still going away; the engine says 500 and means "not yet".
      if (refusalStatus(error) === 500 && attempt < MAX_ATTEMPTS) return 'busy'
      throw error
    })
    if (outcome === 'gone') return
    if (attempt >= MAX_ATTEMPTS)
      throw new HoldfastError('backend_unavailable', `${client.engine} keeps on removing ${containerName} without an end`)
    await sleep(WAIT_MS)
  }
}
