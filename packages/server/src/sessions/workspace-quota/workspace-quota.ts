/**
 * The bound on what a session's workspace holds, kept while its commands run.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A session that goes over it loses what runs in it, not its files. It may run commands again to remove some: while it is over, what is
 * there, and little more, is the bound. One that is stopped again and again without getting below it runs no more commands until files
 * are removed through the API. Why it is done by watching: docs/adr/0016-workspace-quota.md
 */
import { HoldfastError } from '@holdfast/protocol'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import { SYSTEM } from '../caller.ts'
import type { Changes } from '../change.ts'
import type { Cancelling } from '../executions/cancelling.ts'
import type { Fleet } from '../fleet.ts'
import { isLive } from '../lifecycle/state.ts'
import { step, unchanged } from '../lifecycle/step.ts'
import { createFreeSpaceWatch } from './free-space.ts'
import { createIntakes } from './intake.ts'
import type { Intake, Intakes } from './intake.ts'
import type { Measuring, MeasuredPlace } from './measuring.ts'
import { exceeds, overWords } from './usage.ts'
import type { Usage } from './usage.ts'
import { watchWorkspace } from './workspace-watch.ts'
import type { WorkspaceWatch } from './workspace-watch.ts'

/** So many times in a row commands may be stopped while the workspace stays over its bound. */
const MAX_STOPS = 3

export interface WorkspaceQuota {
  /** The session's row as it is now: watched while it has a sandbox here, and a bound. `isNew`: its first sandbox was just made. */
  follow(session: SessionRow, isNew?: boolean): void
  /** Before a command. Throws `no_space`. */
  admit(session: SessionRow): Promise<void>
  /** Before bytes from outside are written; `null` without a bound. Throws `no_space`. Close it. */
  intake(session: SessionRow): Promise<Intake | null>
  stop(): void
}

export interface WorkspaceQuotaNeeds {
  readonly measuring: Measuring
  /** Entries of any workspace that has a bound. */
  readonly maxEntries: number
  placesOf(session: SessionRow): readonly MeasuredPlace[]
  readonly serverId: string
  readonly changes: Changes
  readonly cancelling: Cancelling
  readonly fleet: Fleet
  readonly log: Log
}

interface Watched {
  session: SessionRow
  /** `null` while it has no sandbox. */
  watch: WorkspaceWatch | null
  stops: number
  readonly bounds: Usage
  readonly intakes: Intakes
}

export function createWorkspaceQuota(needs: WorkspaceQuotaNeeds): WorkspaceQuota {
  const { measuring, maxEntries, placesOf, serverId, changes, cancelling, fleet, log } = needs
  const freeSpace = createFreeSpaceWatch()
  const all = new Map<string, Watched>()

  function begin(watched: Watched, isNew: boolean): WorkspaceWatch {
    const { bounds, intakes } = watched
    const { id } = watched.session
    return watchWorkspace({
      ...{ measuring, freeSpace, bounds, isNew, places: placesOf(watched.session), uid: watched.session.packUid },
      clock: () => performance.now(),
      isBusy: () => watched.session.running > 0 || intakes.count > 0,
      freeze: async () => (await liveOf(watched)?.freeze()) ?? unfrozen,
      async stopWriters(thaw) {
        const { session } = watched
        intakes.refuse()
        const live = liveOf(watched)
        await cancelling.all(session, live, { processes: true, graceMs: 0, status: 'workspace_full', beforeKill: thaw })
      },
      onMeasuring: () => intakes.measuring(),
      onMeasured(usage) {
        if (!exceeds(usage, bounds)) watched.stops = 0
        intakes.measured(usage)
      },
      async onStopped(usage) {
        if (exceeds(usage, bounds)) watched.stops += 1
        log.warn('workspace-over-quota', { session: id, ...usage, limit: bounds.bytes })
        await tell(watched, usage, true)
      },
      onTrouble: (error) => log.warn('workspace-not-measured', { session: id, error: errorText(error) }),
    })
  }

  function liveOf({ session: { sandboxId } }: Watched): LiveSandbox | undefined {
    return sandboxId === null ? undefined : fleet.get(sandboxId)
  }

  /** The next result says so; who listens hears of each stop. */
  async function tell({ session, bounds }: Watched, usage: Usage, isStopped: boolean): Promise<void> {
    const notice = exceeds(usage, bounds) ? overWords(usage, bounds) : null
    const { bytes, entries, hidden } = usage
    const data = { bytes, entries, hidden, limit_bytes: bounds.bytes, limit_entries: bounds.entries }
    await changes.change(session, { actor: SYSTEM, action: 'workspace.over-quota', durability: 'process' }, (row) => {
      if (!isLive(row.state) || (!isStopped && row.notice === notice)) return unchanged(row)
      const change = notice === null ? {} : { notice }
      return isStopped ? step(row, change, { type: 'workspace.over_quota', reason: 'workspace_full', data }) : step(row, change)
    })
  }

  function follow(session: SessionRow, isNew = false): void {
    const bytes = session.wish.limits?.workspace_bytes ?? null
    if (bytes === null) return
    const isHere = session.serverId === serverId
    const isServed = isHere && session.sandboxId !== null && (session.state === 'idle' || session.state === 'active')
    const known = all.get(session.id)
    if (!isHere || !isLive(session.state)) {
      known?.watch?.stop()
      all.delete(session.id)
      return
    }
    const watched = known ?? { session, watch: null, stops: 0, ...boundsOf(bytes) }
    watched.session = session
    all.set(session.id, watched)
    // A directory of the host may hold anything.
    if (isServed) watched.watch ??= begin(watched, isNew && session.wish.workspace?.source === undefined)
    else {
      watched.watch?.stop()
      watched.watch = null
    }
  }

  function boundsOf(bytes: number): Pick<Watched, 'bounds' | 'intakes'> {
    const bounds = { bytes, entries: maxEntries, hidden: 0 }
    return { bounds, intakes: createIntakes(bounds) }
  }

  /** Measured, and nothing of it is being stopped. `null`: it has no bound. */
  async function ready(
    session: SessionRow,
    isStale: (watched: Watched, usage: Usage) => boolean,
  ): Promise<(Watched & { readonly usage: Usage }) | null> {
    if ((session.wish.limits?.workspace_bytes ?? null) === null) return null
    if (!all.has(session.id)) follow(session)
    const watched = all.get(session.id)
    await watched?.watch?.ready()
    const known = watched?.watch?.usage ?? null
    if (watched !== undefined && known !== null && isStale(watched, known)) await watched.watch?.refresh()
    const usage = watched?.watch?.usage ?? null
    if (watched === undefined || usage === null)
      throw new HoldfastError('session_unavailable', 'the session has just lost its sandbox, and its workspace is not watched')
    return { ...watched, usage }
  }

  return {
    follow,
    async admit(session) {
      const watched = await ready(session, ({ bounds }, usage) => exceeds(usage, bounds))
      if (watched === null || !exceeds(watched.usage, watched.bounds)) return
      if (watched.stops >= MAX_STOPS)
        throw new HoldfastError('no_space', `${overWords(watched.usage, watched.bounds)} Commands were stopped ${watched.stops} times.`, {
          ...watched.usage,
          limit: watched.bounds.bytes,
        })
      await tell(watched, watched.usage, false)
    },
    async intake(session) {
      const watched = await ready(session, ({ intakes }) => intakes.isTight)
      if (watched === null) return null
      return watched.intakes.open(watched.usage)
    },
    stop() {
      for (const { watch } of all.values()) watch?.stop()
      all.clear()
    },
  }
}

async function unfrozen(): Promise<void> {}
