/**
 * The refusal of what needs a Box when there is none, in words that tell switched off from failed.
 */
import { BoxError } from '@holdfast/protocol/box'
import type { BoxConnector } from '../connector/connector.ts'

/** There is no other way to do it: nothing falls back to the host. */
export function requireBox(connector: Pick<BoxConnector, 'isConnected' | 'isEnabled' | 'reason'>, deed: string): void {
  if (connector.isConnected) return
  if (!connector.isEnabled) {
    const message = `${deed} needs the Box runtime, which is disabled in the settings; set box.enabled to true and start again`
    throw new BoxError('BoxRuntimeUnavailableError', message, { enabled: false })
  }
  const message = `${deed} needs the Box runtime, which failed: ${connector.reason}; it is tried again by itself`
  throw new BoxError('BoxRuntimeUnavailableError', message, { enabled: true })
}
