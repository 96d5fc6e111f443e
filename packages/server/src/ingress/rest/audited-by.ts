/**
 * Who the audit names for what a request changes.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { AuditRecord } from '../../sessions/audit/audit-record.ts'
import type { Entered, Visit } from './route.ts'

export function auditedBy({ caller, principal, requestId }: Pick<Entered & Visit, 'caller' | 'principal' | 'requestId'>) {
  const { onBehalfOf } = principal
  const by: Pick<AuditRecord, 'actor' | 'onBehalfOf' | 'requestId'> = {
    ...{ actor: caller.actor, requestId },
    ...(onBehalfOf === null ? {} : { onBehalfOf }),
  }
  return by
}
