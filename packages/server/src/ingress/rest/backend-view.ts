/**
 * What a probe found → what a caller reads.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { BackendView } from '@holdfast/protocol'
import type { Capabilities } from '../../sandboxes/backend.ts'
import type { ProbedBackend } from '../../sandboxes/choose.ts'

export function backendView({ kind, probe }: ProbedBackend, chosenKind: string): BackendView {
  const chosen = kind === chosenKind
  if (!probe.available)
    return { ...{ kind, chosen, available: false, version: null, capabilities: null }, reason: probe.reason, fix: probe.fix }
  const { version, capabilities } = probe
  return { ...{ kind, chosen, available: true, version, capabilities: capabilitiesView(capabilities) }, reason: null, fix: null }
}

function capabilitiesView({ limits, networkOn, images, writableRoot, rootUser, severalUsers, packing, reasons }: Capabilities) {
  return {
    limits: { ...limits },
    ...{ network_on: networkOn, images, writable_root: writableRoot, root_user: rootUser, several_users: severalUsers, packing },
    reasons: { ...reasons },
  }
}
