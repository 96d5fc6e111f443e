/**
 * The sessions of Box clients: found or made for a spec, kept to what was asked first, told of, and ended.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Ordinary sessions in every way. What a session was made for is remembered here, so that a command in one that exists costs no more than
 * a comparison; a session that has ended meanwhile shows when it is used, and is then looked for again.
 */
import { isHoldfastError } from '@holdfast/protocol'
import { ARTIFACTS_PATH, BoxError } from '@holdfast/protocol/box'
import type { BoxSpec } from '@holdfast/protocol/box'
import type { Caller } from '../../../sessions/caller.ts'
import type { EventListeners } from '../../../sessions/events/event-listeners.ts'
import { isClosed } from '../../../sessions/lifecycle/state.ts'
import type { Sessions } from '../../../sessions/sessions.ts'
import { isWithin } from '../../../policy/path-within.ts'
import { untilSession } from '../../../sessions/waiting.ts'
import type { BoundSkill, SkillViews } from '../../../skills/skill-views.ts'
import type { SessionFilter, SessionRow } from '../../../store/tables/sessions.ts'
import type { Log } from '../../../telemetry/log.ts'
import type { BoxTenant } from '../tenant.ts'
import type { Artifacts } from './artifacts.ts'
import type { BoxCallers } from './box-callers.ts'
import type { BoxConfig } from './box-config.ts'
import { extraMountsOf, isSameMounts, withoutMissingSkills } from './extra-mounts.ts'
import type { ArtifactMount } from './extra-mounts.ts'
import { inOwnDirectory } from './host-directories.ts'
import type { HostDirectories } from './host-directories.ts'
import { keyedTurns } from './keyed-turns.ts'
import { DOOR_LABEL, GENERATION_LABEL, keyOf, labelsOf, placementLabels, sessionLabels, workspaceLabels } from './session-names.ts'
import { namesImage, timesOf, wishOf } from './session-request.ts'
import { checkSame, recordedOf, recordOf, SPEC_METADATA, WARNING_METADATA } from './spec-record.ts'

/** Of one workspace and of the door: more are never open at once. */
const MAXIMUM_LISTED = 5000
const MAXIMUM_REMEMBERED = 10_000
/** How long an end waits until everything is gone; the rest goes on without anybody waiting. */
const FAREWELL_MS = 10_000
const REMOUNT_ATTEMPTS = 20
const OPEN = ['pending', 'idle', 'active', 'suspended', 'closing'] as const
const WITH_COMPUTE = ['pending', 'idle', 'active', 'closing'] as const

export interface EnteredSession {
  readonly caller: Caller
  readonly id: string
}

export interface BoxSessions {
  /** One that is as asked, made if need be, with the skills in it. Throws `BoxSessionConflictError` and `BoxCapacityExceededError`. */
  enter(tenant: BoxTenant, spec: BoxSpec, signal: AbortSignal): Promise<EnteredSession>
  /** It is not what was remembered any more. */
  forget(tenant: BoxTenant, logicalId: string): void
  /** How many are remembered. */
  readonly count: number
  /** Those that the id may mean, the likeliest first. Throws `BoxSessionNotFoundError` when there is none. */
  find(tenant: BoxTenant, logicalId: string): Promise<readonly [SessionRow, ...SessionRow[]]>
  /** Of this placement; suspended ones are gone to a client. */
  list(tenant: BoxTenant): Promise<readonly SessionRow[]>
  /** All of this door that have a sandbox. */
  all(): Promise<readonly SessionRow[]>
  /** The generations that have open sessions. */
  generations(tenant: BoxTenant): Promise<readonly number[]>
  end(row: SessionRow): Promise<void>
  endOtherGenerations(tenant: BoxTenant): Promise<void>
  endAll(): Promise<void>
}

export interface BoxSessionsNeeds {
  readonly sessions: Pick<Sessions, 'getOrCreate' | 'reads' | 'steering'>
  readonly listeners: EventListeners
  readonly callers: BoxCallers
  readonly config: Pick<BoxConfig, 'limits'>
  readonly directories: HostDirectories
  readonly artifacts: Artifacts
  readonly views: Pick<SkillViews, 'place' | 'fill' | 'bound'>
  readonly skillsRoot: (namespace: string) => string
  /** The backend runs none, and the operator wants those that clients name to be passed over. */
  readonly ignoresImages: boolean
  readonly log: Log
}

interface Remembered {
  readonly id: string
  /** Everything that was asked. */
  readonly text: string
}

export function createBoxSessions(needs: BoxSessionsNeeds): BoxSessions {
  const { sessions, listeners, callers, config, directories, artifacts, views, skillsRoot, ignoresImages, log } = needs
  const { reads, steering } = sessions
  const remembered = new Map<string, Remembered>()
  const inTurn = keyedTurns()

  const open = (caller: Caller, filter: SessionFilter) => reads.list(caller, { states: OPEN, ...filter }, null, MAXIMUM_LISTED)
  const withCompute = () => open(callers.door, { states: WITH_COMPUTE, labels: [DOOR_LABEL] })

  async function create(tenant: BoxTenant, spec: BoxSpec, prepared: Prepared, signal: AbortSignal): Promise<SessionRow> {
    const caller = callers.of(tenant.namespace)
    const isImageIgnored = ignoresImages && namesImage(spec)
    // One after the other, so that no two take the last place.
    const { session, isNew } = await inTurn('', async () => {
      const { max_sessions: most } = config.limits
      if ((await withCompute()).length >= most)
        throw new BoxError('BoxCapacityExceededError', `${most} sessions are open, and no more may be`)
      return sessions.getOrCreate(
        caller,
        {
          key: keyOf(tenant, spec.session_id),
          wish: wishOf(spec, prepared.source, prepared.mounts, isImageIgnored),
          labels: labelsOf(tenant, spec.session_id),
          metadata: {
            [SPEC_METADATA]: JSON.stringify(recordOf(spec)),
            ...(isImageIgnored
              ? { [WARNING_METADATA]: `the image ${spec.image.slice(0, 200)} is ignored: the backend runs no images` }
              : {}),
          },
          times: timesOf(spec),
        },
        signal,
      )
    })
    if (isNew && isImageIgnored) log.warn('box-image-ignored', { session: session.id, image: spec.image.slice(0, 200) })
    if (!isNew) checkSame(recordedOf(session), recordOf(spec))
    return session
  }

  interface Prepared {
    readonly source: string | null
    readonly mounts: Awaited<ReturnType<typeof withoutMissingSkills>>
    readonly skills: readonly BoundSkill[]
    readonly artifacts: readonly ArtifactMount[]
  }

  /** Which directories it is about; all that a client names are looked at, whatever they are for. */
  async function prepare(tenant: BoxTenant, spec: BoxSpec): Promise<Prepared> {
    const { skills, artifacts: trees, mounts: asked } = extraMountsOf(spec.extra_mounts, skillsRoot(tenant.namespace))
    const isShown = spec.host_path !== null && spec.host_path_mode !== 'none'
    const source = spec.host_path !== null && isShown ? await directories.resolve(tenant, spec.host_path) : null
    const mounts = await withoutMissingSkills(asked, log)
    await directories.check(tenant, mounts)
    const targets = [...(isShown ? [spec.mount_path] : []), ...mounts.map(({ target }) => target)]
    if (trees.length > 0 && targets.some((target) => isWithin(ARTIFACTS_PATH, target)))
      throw new BoxError('BoxValidationError', `extra_mounts: a mount hides ${ARTIFACTS_PATH}, so no artifacts can be shown there`)
    return { source, mounts, skills, artifacts: trees }
  }

  async function enterSlowly(tenant: BoxTenant, spec: BoxSpec, signal: AbortSignal): Promise<string> {
    const caller = callers.of(tenant.namespace)
    const known = await openOne(caller, tenant, spec.session_id)
    const asked = recordOf(spec)
    if (known !== null) {
      if (known.state === 'closing') await untilSession(known, ({ state }) => isClosed(state), { reads, listeners, signal })
      // One without work for long is over to its client, which may ask for another now.
      else if (known.state !== 'suspended') checkSame(recordedOf(known), asked)
      else if (JSON.stringify(recordedOf(known)) !== JSON.stringify(asked)) await end(known)
    }
    const prepared = await prepare(tenant, spec)
    const session = (await stillOpen(caller, known)) ?? (await create(tenant, spec, prepared, signal))
    if (!isSameMounts(session.wish.mounts ?? [], prepared.mounts)) {
      if (hasFixedMounts(tenant, spec) && session.state !== 'suspended')
        throw new BoxError('BoxSessionConflictError', 'the session exists with another immutable mount set; it was preserved')
      await remount(caller, session, prepared.mounts, signal)
    }
    await show(session.id, prepared.skills)
    await showArtifacts(tenant, session.id, prepared.artifacts, signal)
    return session.id
  }

  /** Each copied once; a sandbox from before there were artifacts is replaced by one that shows them. */
  async function showArtifacts(tenant: BoxTenant, id: string, wanted: readonly ArtifactMount[], signal: AbortSignal): Promise<void> {
    if (wanted.length === 0 || artifacts.has(id, wanted)) return
    const caller = callers.of(tenant.namespace)
    if (!(await artifacts.isPrepared(id))) {
      const row = await reads.open(caller, 'exec', id)
      if (row.state === 'idle' || row.state === 'active') await remount(caller, row, row.wish.mounts ?? [], signal)
    }
    await artifacts.show(id, wanted, (artifact) => directories.artifactSources(tenant, artifact))
  }

  /** Its place may not be there yet: the sandbox is being made meanwhile. */
  async function show(id: string, skills: readonly BoundSkill[]): Promise<void> {
    if (skills.length > 0) await views.place(id)
    else if ((await views.bound(id)).length === 0) return
    await views.fill(id, skills)
  }

  async function stillOpen(caller: Caller, known: SessionRow | null): Promise<SessionRow | null> {
    if (known === null) return null
    const row = await reads.open(caller, 'exec', known.id)
    return row.state === 'closing' || isClosed(row.state) ? null : row
  }

  /** Given up for a sandbox that shows others; one that is just being made is waited for. */
  async function remount(caller: Caller, { id, tenantId }: SessionRow, mounts: Prepared['mounts'], signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      await untilSession({ id, tenantId }, ({ state }) => state !== 'pending', { reads, listeners, signal })
      try {
        await steering.remount(caller, id, mounts)
        return
      } catch (error) {
        const isMoving = isHoldfastError(error, 'session_unavailable') || isHoldfastError(error, 'session_busy')
        if (!isMoving || attempt === REMOUNT_ATTEMPTS) throw error
      }
    }
  }

  /** Also one that is on its way out. */
  async function openOne(caller: Caller, tenant: BoxTenant, logicalId: string): Promise<SessionRow | null> {
    const [row] = await open(caller, { owner: caller.owner, keyHash: keyOf(tenant, logicalId).keyHash })
    return row ?? null
  }

  async function end(row: SessionRow): Promise<void> {
    const door = callers.door
    for (const [key, { id }] of remembered) if (id === row.id) remembered.delete(key)
    try {
      await steering.cancel(door, row.id)
      await untilSession(row, ({ state }) => isClosed(state), { reads, listeners, signal: AbortSignal.timeout(FAREWELL_MS) })
    } catch (error) {
      // Decision: it is gone already, or goes on its way out by itself.
      if (!isHoldfastError(error, 'not_found') && !isHoldfastError(error, 'request_cancelled')) throw error
    }
  }

  return {
    async enter(tenant, asked, signal) {
      const spec = tenant.isImplied === true ? inOwnDirectory(tenant, asked) : asked
      const caller = callers.of(tenant.namespace)
      const { keyHash } = keyOf(tenant, spec.session_id)
      const text = JSON.stringify([recordOf(spec), spec.extra_mounts.filter(({ content_digest: digest = null }) => digest === null)])
      const known = remembered.get(keyHash)
      if (known?.text === text) {
        // Packages change without their mounts changing, and artifacts are no part of what is compared.
        if (spec.extra_mounts.length > 0) await fillAgain(tenant, spec, known.id, signal)
        return { caller, id: known.id }
      }
      const id = await inTurn(keyHash, () => enterSlowly(tenant, spec, signal))
      if (remembered.size >= MAXIMUM_REMEMBERED) remembered.clear()
      remembered.set(keyHash, { id, text })
      return { caller, id }
    },
    get count() {
      return remembered.size
    },
    forget(tenant, logicalId) {
      remembered.delete(keyOf(tenant, logicalId).keyHash)
    },
    async find(tenant, logicalId) {
      const caller = callers.of(tenant.namespace)
      const exact = await openOne(caller, tenant, logicalId)
      const named = (await open(caller, { owner: caller.owner, labels: sessionLabels(tenant, logicalId) })).filter(
        ({ id, state }) => id !== exact?.id && state !== 'closing',
      )
      const [first, ...rest] = exact === null || exact.state === 'closing' ? named : [exact, ...named]
      if (first === undefined) throw new BoxError('BoxSessionNotFoundError', `there is no session '${logicalId.slice(0, 255)}'`)
      return [first, ...rest]
    },
    async list(tenant) {
      const caller = callers.of(tenant.namespace)
      return open(caller, { states: ['pending', 'idle', 'active'], owner: caller.owner, labels: placementLabels(tenant) })
    },
    all: withCompute,
    async generations(tenant) {
      const rows = await open(callers.of(tenant.namespace), { labels: workspaceLabels(tenant) })
      return rows.map(({ labels }) => Number(labels[GENERATION_LABEL]))
    },
    end,
    async endOtherGenerations(tenant) {
      const rows = await open(callers.of(tenant.namespace), { labels: workspaceLabels(tenant) })
      await Promise.all(rows.filter(({ labels }) => labels[GENERATION_LABEL] !== String(tenant.generation)).map(end))
    },
    async endAll() {
      await Promise.all((await open(callers.door, { labels: [DOOR_LABEL] })).map(end))
    },
  }

  async function fillAgain(tenant: BoxTenant, spec: BoxSpec, id: string, signal: AbortSignal): Promise<void> {
    const { skills, artifacts: trees } = extraMountsOf(spec.extra_mounts, skillsRoot(tenant.namespace))
    if (skills.length > 0) await views.fill(id, skills)
    await showArtifacts(tenant, id, trees, signal)
  }
}

/** Clients since 0.7.13, which send no `skill_name`, expect a session to keep its mounts; those before have it made again. */
function hasFixedMounts({ placement }: BoxTenant, { skill_name: skillName }: BoxSpec): boolean {
  return placement !== '' && skillName === undefined
}
