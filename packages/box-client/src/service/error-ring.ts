/**
 * The last failures of a service, kept for those who look after it; each workspace sees its own.
 */
import { isBoxError } from '@holdfast/protocol/box'
import type { BoxContext } from '@holdfast/protocol/box'
import type { BoxClock } from '../clock.ts'
import { reasonOf } from '../log.ts'

const KEPT = 50
const MAXIMUM_MESSAGE = 4096

export interface BoxErrorRecord {
  /** ISO 8601. */
  readonly timestamp: string
  readonly type: string
  readonly message: string
  readonly query_id: string
  readonly instance_uuid: string
  readonly workspace_uuid: string
}

export interface ErrorRing {
  record(error: unknown, context: BoxContext, queryId: string): void
  /** Oldest first. */
  of(context: BoxContext): readonly BoxErrorRecord[]
}

export function createErrorRing(clock: Pick<BoxClock, 'now'>): ErrorRing {
  const records: BoxErrorRecord[] = []
  return {
    record(error, { instance_uuid, workspace_uuid }, queryId) {
      const type = isBoxError(error) ? error.boxClass : error instanceof Error ? error.name : 'Error'
      const timestamp = new Date(clock.now()).toISOString()
      const message = reasonOf(error).slice(0, MAXIMUM_MESSAGE)
      records.push({ timestamp, type, message, query_id: queryId, instance_uuid, workspace_uuid })
      if (records.length > KEPT) records.shift()
    },
    of: ({ instance_uuid, workspace_uuid }) =>
      records.filter((record) => record.instance_uuid === instance_uuid && record.workspace_uuid === workspace_uuid),
  }
}
