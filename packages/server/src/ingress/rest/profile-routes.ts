/**
 * `/v1/profiles`: the named sets of values that sandboxes can be made with, and those that the tenant stores.
 */
import { CreateProfileBody, PagingShape, ProfileList, ProfileName, ProfileSettings, ProfileView } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import { z } from 'zod'
import { isAuthorized } from '../../access/authorize.ts'
import type { ListedProfile, ProfileChangedBy, TenantProfiles } from '../../policy/tenant-profiles.ts'
import { auditedBy } from './audited-by.ts'
import { definitionFacts, definitionsAfter } from './definition-pages.ts'
import type { Pages } from './page-tokens.ts'
import { empty, json, route } from './route.ts'
import type { Entered, Route, Visit } from './route.ts'
import { etag, requiredVersion } from './versions.ts'

export interface ProfileRoutesNeeds {
  readonly profiles: TenantProfiles
  /** Of requests that name none; `null`: the server's own settings. */
  readonly usualProfile: string | null
}

export const OneName = z.strictObject({ name: ProfileName })
const WRITE_ERRORS: readonly ErrorCode[] = ['forbidden', 'read_only', 'capability_unsupported']

export function profileRoutes({ profiles, usualProfile, pages }: ProfileRoutesNeeds & { readonly pages: Pages }): readonly Route[] {
  const viewOf = async (listed: ListedProfile) => profileView(listed, await profiles.obstacleOf(listed))
  const named = ({ principal }: Entered, name: string) => ({ tenantId: principal.tenantId, name })
  async function shown(listed: ListedProfile) {
    return { body: await viewOf(listed), headers: listed.stored === null ? {} : etag(listed.stored) }
  }

  return [
    route({
      method: 'GET',
      path: '/v1/profiles',
      summary: 'List the profiles that sandboxes can be made with, and which of them can be used here',
      authorization: 'any-principal',
      query: z.strictObject(PagingShape),
      answers: { 200: json('ProfileList', ProfileList, 'The read-only ones first, then those of the tenant by name') },
      errors: ['invalid_page_token'],
      async handle(call) {
        const { tenantId } = call.principal
        const page = await pages.page(
          call,
          'profiles',
          async (after, limit) => {
            const found = await definitionsAfter(profiles, tenantId, after, limit)
            return Promise.all(found.map(async ({ item, place }) => ({ place, view: await viewOf(item) })))
          },
          ({ place }) => place,
          ({ view }) => view,
        )
        return { status: 200, body: { default: usualProfile, ...page } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/profiles',
      summary: 'Store a profile of the tenant',
      authorization: 'manage-profiles',
      body: CreateProfileBody,
      answers: { 201: json('Profile', ProfileView, 'A new profile') },
      errors: [...WRITE_ERRORS, 'name_taken', 'quota_exceeded'],
      async handle(call) {
        const { name, ...settings } = call.body
        const { body, headers } = await shown(await profiles.create(named(call, name), settings, by(call)))
        return { status: 201, body, headers: { ...headers, location: `/v1/profiles/${name}` } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/profiles/{name}',
      summary: 'Read a profile',
      authorization: 'any-principal',
      params: OneName,
      answers: { 200: json('Profile', ProfileView, 'The profile; with an ETag if it is stored') },
      errors: ['not_found'],
      handle: async (call) => ({ status: 200, ...(await shown(await profiles.get(named(call, call.params.name)))) }),
    }),
    route({
      method: 'PUT',
      path: '/v1/profiles/{name}',
      summary: 'Replace a stored profile; sessions that exist keep what they were made with',
      authorization: 'manage-profiles',
      params: OneName,
      body: ProfileSettings,
      ifMatch: 'required',
      answers: { 200: json('Profile', ProfileView, 'The changed profile') },
      errors: [...WRITE_ERRORS, 'not_found', 'version_conflict'],
      async handle(call) {
        const version = requiredVersion(call.ifMatch)
        return { status: 200, ...(await shown(await profiles.replace(named(call, call.params.name), call.body, version, by(call)))) }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/profiles/{name}',
      summary: 'Remove a stored profile that no pipeline names; sessions that exist keep what they were made with',
      authorization: 'manage-profiles',
      params: OneName,
      ifMatch: 'optional',
      answers: { 204: empty('It is gone') },
      errors: ['forbidden', 'read_only', 'not_found', 'version_conflict', 'profile_in_use'],
      async handle(call) {
        await profiles.remove(named(call, call.params.name), call.ifMatch, by(call))
        return { status: 204, body: null }
      },
    }),
  ]
}

function by(call: Entered & Visit): ProfileChangedBy {
  return { ...auditedBy(call), maySetPolicy: isAuthorized(call.principal, 'manage-tenants') }
}

function profileView({ profile, source, stored }: ListedProfile, reason: string | null): ProfileView {
  const { name, image, network, rootfs, home, user, workspaceMode, cpus, memoryBytes, pids, workspaceBytes, timeoutMs, maxTimeoutMs } =
    profile
  return {
    ...{ name, ...definitionFacts(source, stored), built_in: source === 'built-in', usable: reason === null, reason },
    ...{ image, network, rootfs, home, user, workspace_mode: workspaceMode },
    limits: { cpus, memory_bytes: memoryBytes, pids, workspace_bytes: workspaceBytes },
    ...{ timeout_ms: timeoutMs, max_timeout_ms: maxTimeoutMs, locked: [...profile.locked] },
  }
}
