/**
 * The verdict on a guest that broke the protocol.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * Whoever reads guest bytes throws this; the channel catches it, ends, and rejects everything that waits on it.
 */
import { HoldfastError } from '@holdfast/protocol'

export function violated(message: string, details: Readonly<Record<string, unknown>> = {}): HoldfastError<'guest_protocol_violated'> {
  return new HoldfastError('guest_protocol_violated', message, details)
}
