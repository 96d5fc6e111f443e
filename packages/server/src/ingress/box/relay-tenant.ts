/**
 * Whose a relay is: said by the headers of its handshake, since it has no messages of its own to say it in.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { IncomingMessage } from 'node:http'
import { GENERATION_HEADER, MAXIMUM_WORKSPACE_LENGTH, WORKSPACE_HEADER } from '@holdfast/protocol/box'
import type { BoxCredentials } from './credentials.ts'
import type { Fence } from './fence.ts'
import type { RelayGate } from './relay-gate.ts'
import { RAW_TENANT, tenantOf } from './tenant.ts'
import type { BoxTenant } from './tenant.ts'

export function relayGate(credentials: BoxCredentials, fence: Fence): RelayGate {
  return {
    tenantOf(request) {
      const peer = credentials.peerOf(request, { pins: false })
      if (peer === null) return null
      const tenant = peer.instance === null ? RAW_TENANT : tenantInHeaders(peer.instance, request)
      return tenant !== null && fence.isCurrent(tenant) ? tenant : null
    },
    onStale: (tenant, listener) => fence.onStale(tenant, listener),
  }
}

function tenantInHeaders(instance: string, { headers }: IncomingMessage): BoxTenant | null {
  const workspace = utf8(headers[WORKSPACE_HEADER]).trim()
  const generation = utf8(headers[GENERATION_HEADER])
  if (workspace === '' || workspace.length > MAXIMUM_WORKSPACE_LENGTH) return null
  if (!/^[1-9]\d*$/.test(generation) || !Number.isSafeInteger(Number(generation))) return null
  return tenantOf({ instance_uuid: instance, workspace_uuid: workspace, placement_generation: Number(generation) })
}

/** Node reads headers as Latin-1, clients write UTF-8. */
function utf8(header: string | string[] | undefined): string {
  return Buffer.from([header].flat()[0] ?? '', 'latin1').toString('utf8')
}
