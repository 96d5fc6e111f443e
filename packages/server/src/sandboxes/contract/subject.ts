/**
 * What the contract suites need to know of a backend in order to try it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { BackendKind, BackendNeeds, SandboxBackend } from '../backend.ts'

export interface Subject {
  readonly kind: BackendKind
  /** A new backend object, as a server makes one when it starts. */
  open(needs: BackendNeeds): SandboxBackend
  /** An image with a shell and the usual tools; `null` where the backend shows the host's own `/usr`. */
  readonly image: string | null
  readonly imageWithoutShell: string | null
  /** The engine's own socket, so that leftovers are counted without the code under test. */
  readonly engineSocket: string | null
}

/** Proofs by the promise they keep. What a proof gets depends on its suite. */
export type Proofs<Ground> = Readonly<Record<string, (ground: Ground) => Promise<void>>>

/** Promises a backend cannot keep, each with the reason; it is printed with the skip. */
export type Excuses = Readonly<Record<string, string>>

/** Thrown by a proof that this machine gives no way to try; the suite skips it with the reason. */
export class NotHere extends Error {
  override readonly name = 'NotHere'
}
