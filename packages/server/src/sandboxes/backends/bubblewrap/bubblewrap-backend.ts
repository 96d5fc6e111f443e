/**
 * The bubblewrap backend: namespaces over the host's own `/usr`, with no daemon, no image and no root needed.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { BackendNeeds, SandboxBackend } from '../../backend.ts'
import { jailBackend } from '../jail/jail-backend.ts'
import type { JailSettings } from '../jail/jail-host.ts'
import { probeBubblewrap } from './bubblewrap-probe.ts'

export function bubblewrapBackend(needs: BackendNeeds, settings: JailSettings = {}): SandboxBackend {
  return jailBackend('bubblewrap', needs, (signal) => probeBubblewrap(needs, settings, signal), { takesSubordinateIds: true })
}
