/**
 * What a host shows of its Box: the payloads of the status page, the same whether the server answers, fails or was never asked.
 */
import type { BoxBackendInfo, BoxContext } from '@holdfast/protocol/box'
import type { RuntimeStatus } from '../calls/control-calls.ts'
import type { BoxConnector } from '../connector/connector.ts'
import { reasonOf } from '../log.ts'
import type { AvailabilityWatch } from './availability.ts'

export interface BoxServiceStatus extends Partial<Omit<RuntimeStatus, 'backend'>> {
  /** The connection and the backend, together. */
  readonly available: boolean
  /** `false`: switched off on purpose, and not failed. */
  readonly enabled: boolean
  readonly profile: string
  readonly recent_error_count: number
  /** Why it is not available. */
  readonly connector_error?: string
  readonly backend?: BoxBackendInfo | null | undefined
}

export interface BackendStatus {
  readonly available: boolean
  readonly enabled: boolean
  readonly backend?: BoxBackendInfo
  readonly connector_error?: string
}

export interface StatusNeeds {
  readonly connector: BoxConnector
  readonly availability: AvailabilityWatch
  readonly profile: string
  readonly errorCount: (context: BoxContext) => number
}

export async function readStatus(
  { connector, availability, profile, errorCount }: StatusNeeds,
  context: BoxContext,
): Promise<BoxServiceStatus> {
  const base = { enabled: connector.isEnabled, profile, recent_error_count: errorCount(context) }
  if (!connector.isConnected) return { available: false, ...base, connector_error: connector.reason ?? '' }
  try {
    const status = await connector.client.status(context)
    const { available, reason } = availability.learn(status.backend)
    return { ...status, available, ...base, ...(reason === null ? {} : { connector_error: reason }) }
  } catch (error) {
    // The connection may be lost without anybody knowing yet; whoever looks at a status gets one.
    return { available: false, ...base, connector_error: reasonOf(error) }
  }
}

/** Of the server, without anything of a workspace. */
export async function readBackendStatus({
  connector,
  availability,
}: Pick<StatusNeeds, 'connector' | 'availability'>): Promise<BackendStatus> {
  const enabled = connector.isEnabled
  if (!connector.isConnected) return { available: false, enabled, connector_error: connector.reason ?? '' }
  try {
    const backend = await connector.client.backendInfo()
    const { available, reason } = availability.learn(backend)
    return { available, enabled, backend, ...(reason === null ? {} : { connector_error: reason }) }
  } catch (error) {
    return { available: false, enabled, connector_error: reasonOf(error) }
  }
}
