/**
 * What a session's sandbox is to be, from its wish and from what it shows of the session's files.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import { realpath } from 'node:fs/promises'
import { HoldfastError } from '@holdfast/protocol'
import type { SandboxWish } from '@holdfast/protocol'
import type { ChosenBackend } from '../sandboxes/choose.ts'
import type { SandboxSpec } from '../sandboxes/spec.ts'
import type { WishPlace } from '../sessions/getting.ts'
import type { Shown } from '../sessions/habitats.ts'
import type { CompleteWish, SessionRow } from '../store/tables/sessions.ts'
import type { DefaultWorkspace } from './default-workspace.ts'
import { assertNotRaised } from './limits.ts'
import { timesOf } from './profiles.ts'
import type { SandboxPolicy } from './sandbox-policy.ts'
import { withSkillView } from './skill-mount.ts'
import type { TenantPipelines } from './tenant-pipelines.ts'
import type { TenantProfiles } from './tenant-profiles.ts'
import { ownHome, ownWorkspace, showsHost } from './session-mounts.ts'
import type { MountOwner, SessionMounts } from './session-mounts.ts'

/** Where processes are not limited. */
const PIDS_PER_UID = 256
/** What the guest needs beside each session's own: its supervisor, and one for each of some executions. */
const PIDS_BESIDE = 5

export interface SessionSpecs {
  specFor(session: Pick<SessionRow, 'id' | 'wish' | 'tenantId' | 'owner'>, shown: Shown): Promise<SandboxSpec>
  /** Throws `profile_unknown`, `profile_locked` and `pipeline_unknown`. */
  complete(wish: SandboxWish, place: WishPlace): Promise<CompleteWish>
  /** Throws what a session with this wish would be refused for. Makes nothing but the default workspace. */
  check(wish: CompleteWish, place: WishPlace): Promise<void>
}

export interface SessionSpecsNeeds {
  readonly policy: SandboxPolicy
  readonly chosen: ChosenBackend
  readonly profiles: Pick<TenantProfiles, 'choose' | 'applyTo'>
  readonly pipelines: Pick<TenantPipelines, 'resolve'>
  readonly mounts: SessionMounts
  /** `null`: a session that names no directory of the host has its own. */
  readonly defaultWorkspace: DefaultWorkspace | null
  readonly packedSessions: number
  /** `false` where sandboxes have the server's own user. */
  readonly mayRaiseLimits: boolean
}

export function sessionSpecs(needs: SessionSpecsNeeds): SessionSpecs {
  const { policy, chosen, profiles, pipelines, mounts, defaultWorkspace, packedSessions, mayRaiseLimits } = needs

  function inDefaultWorkspace(wish: CompleteWish, { tenantId, isPacked }: WishPlace): CompleteWish {
    const { workspace } = wish
    if (defaultWorkspace === null || isPacked || workspace?.source !== undefined || workspace?.mode === 'none') return wish
    return { ...wish, workspace: { ...workspace, source: defaultWorkspace.of(tenantId) } }
  }

  async function shownMounts(wish: CompleteWish, whose: MountOwner, { workspace, home, skills }: Extract<Shown, { workspace: string }>) {
    const own = [...(await ownHome(wish, home)), ...(await ownWorkspace(wish, workspace))]
    return withSkillView(await mounts.of(wish, whose, own), skills, own)
  }

  return {
    async complete(wish, place) {
      const pipeline = await pipelines.resolve(place.tenantId, wish.pipeline)
      const { profile, version } = await profiles.choose(place.tenantId, wish.profile ?? pipeline.profile)
      const applied = profiles.applyTo(profile, wish)
      if (!mayRaiseLimits) assertNotRaised(policy.specFor(applied, []).limits, policy.specFor(profiles.applyTo(profile, {}), []).limits)
      const kept = {
        ...(profile === null ? {} : timesOf(profile)),
        ...(version === null ? {} : { profile_version: version }),
        ...(wish.pipeline === undefined ? {} : { skills: pipeline.skills }),
      }
      return inDefaultWorkspace(policy.complete({ ...applied, ...kept }), place)
    },
    async specFor({ id, wish, tenantId, owner }, shown) {
      if ('workspace' in shown) {
        const whose = { tenantId, owner }
        return policy.specFor(wish, await mounts.withOwners(await shownMounts(wish, whose, shown), whose, id))
      }
      const { pids } = policy.specFor(wish, []).limits
      const pidsPerUid = pids === null ? PIDS_PER_UID : Math.max(1, Math.floor((pids - 1) / packedSessions) - PIDS_BESIDE)
      return policy.specFor(wish, [], { ...shown.packed, source: await realpath(shown.packed.source), pidsPerUid })
    },
    async check(wish, { tenantId, owner, isPacked }) {
      if (isPacked) checkPacked(wish, chosen)
      await chosen.backend.check(policy.specFor(wish, await mounts.of(wish, { tenantId, owner }, [])))
    },
  }
}

/** Neighbours share nothing that one of them can write, and see nothing of each other. */
function checkPacked(wish: CompleteWish, { backend, capabilities }: ChosenBackend): void {
  const refuse = (why: string): never => {
    throw new HoldfastError('capability_unsupported', `${backend.kind} cannot pack sessions: ${why}`, { capability: 'packing' })
  }
  if (!capabilities.packing) refuse(capabilities.reasons.packing ?? 'it cannot be done here')
  if (showsHost(wish)) refuse('a directory of the host would be one that all of them share')
  if (wish.rootfs === 'writable') refuse('a writable root is a place that all of them share')
  if (wish.user === 'root') refuse('root of the sandbox would be root of all of them')
  if (wish.workspace?.mode === 'ro') refuse('their workspaces are writable')
  if (wish.home === 'ephemeral') refuse('their homes are directories on disk')
}
