/**
 * The settings of the identity provider, taken together: what one of them means depends on the others.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { OidcRules } from '../access/oidc/tokens.ts'
import type { SettingName, SettingValue } from './settings.ts'

export type OidcConfig = OidcRules

type Read = <N extends SettingName>(name: N) => SettingValue<N>

/** `null` without an issuer. Throws `config_invalid` where tokens would be accepted that were made for somebody else, or mean nothing. */
export function oidcConfig(read: Read): OidcConfig | null {
  const issuer = read('oidc.issuer')
  if (issuer === null) return null
  const audiences = read('oidc.audience')
  if (audiences.length === 0)
    throw new HoldfastError('config_invalid', 'oidc.audience is missing: without it a token for any other service would be let in', {
      key: 'oidc.audience',
    })
  if (read('auth') === 'none')
    throw new HoldfastError('config_invalid', 'oidc.issuer means nothing while auth is none: everybody is let in', { key: 'oidc.issuer' })
  return {
    issuer,
    audiences,
    tenant: read('oidc.tenant'),
    tenantClaim: read('oidc.tenant_claim'),
    subjectClaim: read('oidc.subject_claim'),
    groupsClaim: read('oidc.groups_claim'),
    roleClaim: read('oidc.role_claim'),
    roles: read('oidc.roles'),
    defaultRole: read('oidc.default_role'),
  }
}
