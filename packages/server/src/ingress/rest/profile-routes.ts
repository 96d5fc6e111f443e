/**
 * `/v1/profiles`: the named sets of values that sandboxes can be made with.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { ProfileList } from '@holdfast/protocol'
import type { ProfileView } from '@holdfast/protocol'
import type { Profile, Profiles } from '../../policy/profiles.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export interface ProfileRoutesNeeds {
  readonly profiles: Pick<Profiles, 'usual' | 'all' | 'isBuiltIn'>
  /** Why some cannot be used here, by name. */
  readonly profileObstacles: ReadonlyMap<string, string>
}

export function profileRoutes({ profiles, profileObstacles }: ProfileRoutesNeeds): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/profiles',
      summary: 'List the profiles that sandboxes can be made with, and which of them can be used here',
      authorization: 'any-principal',
      answers: { 200: json('ProfileList', ProfileList, 'The built-in ones first') },
      errors: [],
      async handle() {
        const items = profiles
          .all()
          .map((profile) => profileView(profile, profiles.isBuiltIn(profile.name), profileObstacles.get(profile.name) ?? null))
        return { status: 200, body: { default: profiles.usual, items } }
      },
    }),
  ]
}

function profileView(profile: Profile, isBuiltIn: boolean, reason: string | null): ProfileView {
  const { name, image, network, rootfs, workspaceMode, cpus, memoryBytes, pids, workspaceBytes, timeoutMs, maxTimeoutMs } = profile
  return {
    ...{ name, built_in: isBuiltIn, usable: reason === null, reason },
    ...{ image, network, rootfs, workspace_mode: workspaceMode },
    limits: { cpus, memory_bytes: memoryBytes, pids, workspace_bytes: workspaceBytes },
    ...{ timeout_ms: timeoutMs, max_timeout_ms: maxTimeoutMs, locked: [...profile.locked] },
  }
}
