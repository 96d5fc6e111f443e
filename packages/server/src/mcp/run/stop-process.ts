/**
 * The end of an MCP server's process, as servers expect it: its input is closed, then it is asked, then its whole tree is killed.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { Caller } from '../../sessions/caller.ts'
import type { AttachedProcess } from '../../sessions/processes/attaching.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { SessionRef } from '../../store/tables/sessions.ts'

export interface StopWish {
  readonly caller: Caller
  readonly session: SessionRef
  readonly process: string
}

export type StopNeeds = Pick<Sessions, 'processes' | 'endLeftBehind'>

/** For whoever ends by itself once nobody speaks to it. */
const FAREWELL_MS = 2_000
/** From being asked to being killed. */
const GRACE_MS = 2_000

/** One that does not run is fine. */
export async function stopProcess({ processes, endLeftBehind }: StopNeeds, { caller, session, process }: StopWish): Promise<void> {
  try {
    const { id, status } = await processes.get(caller, session.id, process)
    if (status === 'running') {
      const attached = await processes.attach(caller, session.id, process, { after: 0 }).catch(unreached)
      if (attached !== null) await sayFarewell(attached)
      await processes.stop(caller, session.id, process, GRACE_MS)
    }
    await endLeftBehind(session, id)
  } catch (error) {
    if (!isHoldfastError(error, 'not_found') && !isHoldfastError(error, 'session_closed')) throw error
  }
}

async function sayFarewell(attached: AttachedProcess): Promise<void> {
  const patience = new AbortController()
  const timer = setTimeout(() => patience.abort(), FAREWELL_MS)
  const outOfPatience = new Promise<void>((resolve) => {
    patience.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  // However it goes, it is killed next.
  const left = attached.write(new Uint8Array(), true, patience.signal).then(
    () => attached.ended,
    () => undefined,
  )
  try {
    await Promise.race([left.catch(() => undefined), outOfPatience])
  } finally {
    clearTimeout(timer)
    attached.leave()
  }
}

/** It can still be killed. */
function unreached(error: unknown): null {
  if (isHoldfastError(error)) return null
  throw error
}
