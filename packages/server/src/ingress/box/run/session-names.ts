/**
 * How sessions of this door are found: by the caller's own id, and by the name that the relay's address makes of it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Two ids that read alike once they are names (`a/b` and `a:b`) are two sessions: what is hashed is the id itself.
 */
import { createHash } from 'node:crypto'
import { MAXIMUM_KEY_LENGTH } from '@holdfast/protocol'
import { explicitKeyHash } from '../../../policy/scopes/key-hash.ts'
import type { SessionRequest } from '../../../sessions/getting.ts'
import type { LabelMatch } from '../../../store/tables/session-labels.ts'
import { physicalIdOf, shownIdOf } from '../tenant.ts'
import type { BoxTenant } from '../tenant.ts'

const MAXIMUM_LABEL_LENGTH = 63

/** All sessions of this door have it. */
export const DOOR_LABEL: LabelMatch = { name: 'box.door', value: 'langbot' }
export const GENERATION_LABEL = 'box.generation'
const WORKSPACE_LABEL = 'box.workspace'
const SESSION_LABEL = 'box.session'

export function keyOf(tenant: BoxTenant, logicalId: string): SessionRequest['key'] {
  const key = physicalIdOf(tenant, logicalId)
  const isItself = shownIdOf(tenant, logicalId) === logicalId
  // A line break is in no key that a caller names, so that no other key has this hash.
  const keyHash = explicitKeyHash(isItself ? key : `${key}\n${logicalId}`)
  return {
    scope: null,
    key: key
      .replaceAll(/\p{Cc}/gu, ' ')
      .toWellFormed()
      .slice(0, MAXIMUM_KEY_LENGTH),
    keyHash,
  }
}

export function labelsOf(tenant: BoxTenant, logicalId: string): Readonly<Record<string, string>> {
  return {
    [DOOR_LABEL.name]: DOOR_LABEL.value,
    [WORKSPACE_LABEL]: tenant.namespace,
    [GENERATION_LABEL]: String(tenant.generation),
    [SESSION_LABEL]: nameLabel(tenant, logicalId),
  }
}

/** The sessions of a placement that go by this name. */
export function sessionLabels(tenant: BoxTenant, logicalId: string): readonly LabelMatch[] {
  return [{ name: SESSION_LABEL, value: nameLabel(tenant, logicalId) }, ...placementLabels(tenant)]
}

export function workspaceLabels({ namespace }: BoxTenant): readonly LabelMatch[] {
  return [{ name: WORKSPACE_LABEL, value: namespace }]
}

export function placementLabels(tenant: BoxTenant): readonly LabelMatch[] {
  return [...workspaceLabels(tenant), { name: GENERATION_LABEL, value: String(tenant.generation) }]
}

function nameLabel(tenant: BoxTenant, logicalId: string): string {
  const name = shownIdOf(tenant, logicalId)
  const isPlain = name.length <= MAXIMUM_LABEL_LENGTH && name.isWellFormed() && !/\p{Cc}/u.test(name)
  return isPlain ? name : createHash('sha256').update(name).digest('hex').slice(0, MAXIMUM_LABEL_LENGTH)
}
