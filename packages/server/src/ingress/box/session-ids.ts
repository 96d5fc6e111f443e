/**
 * Session ids as they go in and out: checked when they come, and without the placement's name when they leave.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { textField } from './action.ts'
import { logicalIdOf, shownIdOf } from './tenant.ts'
import type { BoxTenant } from './tenant.ts'

/** The caller's own id, which has something left when it is made a name. Throws `ValueError`, `KeyError` or `BoxValidationError`. */
export function sessionIdOf(tenant: BoxTenant, data: Readonly<Record<string, unknown>>): string {
  const id = textField(data, 'session_id').trim()
  shownIdOf(tenant, id)
  return id
}

/** The payload with every `session_id` as the tenant's callers know it. */
export function withCallersIds(tenant: BoxTenant, payload: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(payload).map(([key, value]: [string, unknown]) => [key, shown(tenant, key, value)]))
}

function shown(tenant: BoxTenant, key: string, value: unknown): unknown {
  if (key === 'session_id' && typeof value === 'string') return logicalIdOf(tenant, value) ?? value
  if (Array.isArray(value)) return value.map((item: unknown) => shown(tenant, '', item))
  return typeof value === 'object' && value !== null ? withCallersIds(tenant, value) : value
}
