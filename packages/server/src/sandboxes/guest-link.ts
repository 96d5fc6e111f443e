/**
 * One open connection to a guest, with the time it was last heard.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { connectInside } from '../guest/guest-inside.ts'
import type { Inside } from '../guest/inside.ts'
import type { Sandbox } from './backend.ts'

/** A guest that is frozen but connected is noticed by its silence; slow enough to cost nothing with a thousand sandboxes. */
const HEARTBEAT = { intervalMs: 20_000, timeoutMs: 60_000 }

export interface GuestLink {
  readonly inside: Inside
  readonly isOpen: boolean
  readonly openedAt: number
  /** When bytes last came from the guest. */
  readonly heardAt: number
  /** Ends the connection at once, unlike `inside.close`, which lets sent bytes leave. */
  drop(): void
}

export interface LinkOptions {
  readonly clock: () => number
  readonly helloTimeoutMs: number
}

/** Dials and waits for the guest's greeting. A failure leaves no connection. */
export async function openLink(sandbox: Sandbox, { clock, helloTimeoutMs }: LinkOptions, signal?: AbortSignal): Promise<GuestLink> {
  const connection = await sandbox.dial(signal)
  try {
    const inside = await connectInside(connection, { heartbeat: HEARTBEAT, helloTimeoutMs, ...(signal === undefined ? {} : { signal }) })
    const openedAt = clock()
    let heardAt = openedAt
    connection.on('data', () => {
      heardAt = clock()
    })
    return {
      inside,
      openedAt,
      get isOpen() {
        return !connection.destroyed
      },
      get heardAt() {
        return heardAt
      },
      drop: () => void connection.destroy(),
    }
  } catch (error) {
    connection.destroy()
    throw error
  }
}
