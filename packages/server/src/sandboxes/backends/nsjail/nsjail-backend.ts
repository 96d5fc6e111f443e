/**
 * The nsjail backend: the same sandbox as bubblewrap's, made by nsjail.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { BackendNeeds, SandboxBackend } from '../../backend.ts'
import { jailBackend } from '../jail/jail-backend.ts'
import type { JailSettings } from '../jail/jail-host.ts'
import { probeNsjail } from './nsjail-probe.ts'

export function nsjailBackend(needs: BackendNeeds, settings: JailSettings = {}): SandboxBackend {
  return jailBackend('nsjail', needs, (signal) => probeNsjail(needs, settings, signal))
}
