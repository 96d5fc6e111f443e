/**
 * The last failures of Box clients' actions, for LangBot's status page and the operator.
 */
import { isHoldfastError } from '@holdfast/protocol'
import { BOX_SUBJECTS } from '../../access/principal.ts'
import type { TenantAction, TenantActions } from './action.ts'
import { boxClassOf } from './failure.ts'
import type { FailureMessage } from './failure.ts'
import type { BoxTenant } from './tenant.ts'

const KEPT = 50

/** As LangBot's page reads it. */
export interface BoxErrorRecord {
  /** ISO 8601. */
  readonly timestamp: string
  readonly type: string
  readonly message: string
  /** Known to LangBot only. */
  readonly query_id: string
  readonly instance_uuid: string
  readonly workspace_uuid: string
}

export interface BoxErrors {
  record(tenant: BoxTenant, error: unknown, message: string): void
  /** Of this owner, or of all of them (`null`); oldest first. */
  of(owner: string | null): readonly BoxErrorRecord[]
}

export function createBoxErrors(clock: () => number): BoxErrors {
  const records: { readonly owner: string; readonly record: BoxErrorRecord }[] = []
  return {
    record({ instance, workspace, namespace }, error, message) {
      const type = boxClassOf(error)
      records.push({
        owner: `${BOX_SUBJECTS}${namespace}`,
        record: {
          ...{ timestamp: new Date(clock()).toISOString(), type, message: message.slice(`${type}: `.length), query_id: '' },
          ...{ instance_uuid: instance, workspace_uuid: workspace },
        },
      })
      if (records.length > KEPT) records.shift()
    },
    of: (owner) => records.filter((each) => owner === null || each.owner === owner).map(({ record }) => record),
  }
}

/** The same actions; what fails is recorded, without physical ids and directories of the server. A bug is in the log only. */
export function recordingErrors(actions: TenantActions, errors: BoxErrors, messageOf: FailureMessage): TenantActions {
  const recording =
    (name: string, action: TenantAction): TenantAction =>
    async (tenant, call) => {
      try {
        return await action(tenant, call)
      } catch (error) {
        if (isHoldfastError(error) && !call.signal.aborted) errors.record(tenant, error, messageOf(error, name))
        throw error
      }
    }
  return Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, recording(name, action)]))
}
