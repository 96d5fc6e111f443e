/**
 * What the probe of a backend says, in its own words.
 *
 * The probes are asked about hosts that are described in the files beside this one, so that the answer is the same on every machine.
 * `page.contract.test.ts` compares it with what they say about the machine it runs on.
 */
import type { BackendKind, Capabilities, Probe } from '../../../packages/server/src/sandboxes/backend.ts'

/** Why a backend cannot be used, and what changes that. */
export type Refusal = Extract<Probe, { readonly available: false }>

export interface BackendWords {
  readonly kind: BackendKind
  /** On a host that has everything, with a server that is root. */
  readonly best: Capabilities
  /** On hosts that lack something each. */
  readonly lacking: readonly Capabilities[]
  readonly refusals: readonly Refusal[]
}

/** What no probe finds here is looked for at this place. */
export const NOWHERE = '/nowhere'
