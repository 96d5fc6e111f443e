/**
 * The generation fence: of a workspace only the newest generation is served, and nothing of an older one is left.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Holds always: an action runs only after every session of other generations is gone, an answer is given only while its generation is
 * still the newest, and whatever an overtaken action still made is removed when it ends. Generations outlive the server with the
 * sessions that belong to them.
 */
import { BoxError } from '@holdfast/protocol/box'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import type { BoxRuntime } from './runtime.ts'
import type { BoxTenant } from './tenant.ts'

export interface Fence {
  /** Runs `work` as the tenant; aborts `controller` when a newer generation comes meanwhile. */
  run<T>(tenant: BoxTenant, controller: AbortController, work: () => Promise<T>): Promise<T>
  /** A workspace nobody has asked for yet has no newer generation. */
  isCurrent(tenant: BoxTenant): boolean
  onStale(tenant: BoxTenant, listener: () => void): () => void
  /** The one workspace that is known of an instance; `null` when there is none or another one too. */
  only(instance: string): BoxTenant | null
}

export interface FenceNeeds {
  readonly runtime: Pick<BoxRuntime, 'latestGeneration' | 'dropOtherGenerations'>
  readonly maxRecords: () => number
  readonly log: Log
}

interface WorkspaceRecord {
  /** `null` until somebody was let in. */
  tenant: BoxTenant | null
  generation: number
  active: Set<AbortController>
  /** That sessions of other generations are gone; `null`: it is to be done. */
  cleaned: Promise<void> | null
}

interface Watcher {
  readonly tenant: BoxTenant
  readonly listener: () => void
}

const stale = () => new BoxError('PermissionError', 'Stale Box placement generation: the workspace has moved on to a newer one')

export function createFence({ runtime, maxRecords, log }: FenceNeeds): Fence {
  const records = new Map<string, Promise<WorkspaceRecord>>()
  /** The same, as soon as they are there. */
  const known = new Map<string, WorkspaceRecord>()
  const watchers = new Map<string, Set<Watcher>>()

  async function openRecord(tenant: BoxTenant): Promise<WorkspaceRecord> {
    const generation = (await runtime.latestGeneration(tenant)) ?? 0
    const record: WorkspaceRecord = { tenant: null, generation, active: new Set(), cleaned: null }
    known.set(tenant.namespace, record)
    return record
  }

  async function recordOf(tenant: BoxTenant): Promise<WorkspaceRecord> {
    const there = records.get(tenant.namespace)
    if (there !== undefined) return there
    if (records.size >= maxRecords()) throw new BoxError('BoxCapacityExceededError', 'no more workspaces can be served')
    const opening = openRecord(tenant)
    records.set(tenant.namespace, opening)
    opening.catch(() => records.delete(tenant.namespace))
    return opening
  }

  /** Whether the generation is another one than before. */
  function moveOn(record: WorkspaceRecord, tenant: BoxTenant): boolean {
    if (tenant.generation < record.generation) throw stale()
    const isNewer = tenant.generation > record.generation
    const overtaken = record.active
    record.tenant = tenant
    if (!isNewer) return false
    record.generation = tenant.generation
    record.active = new Set()
    record.cleaned = null
    for (const controller of overtaken) controller.abort(stale())
    const all = watchers.get(tenant.namespace) ?? new Set<Watcher>()
    for (const watcher of [...all].filter(({ tenant: { generation } }) => generation < tenant.generation)) {
      all.delete(watcher)
      watcher.listener()
    }
    return true
  }

  async function clean(record: WorkspaceRecord, tenant: BoxTenant): Promise<void> {
    const cleaning = (record.cleaned ??= runtime.dropOtherGenerations(tenant))
    try {
      await cleaning
    } catch (error) {
      // Decision: the next action tries again; until it is done none runs.
      if (record.cleaned === cleaning) record.cleaned = null
      throw error
    }
  }

  async function fenced<T>(record: WorkspaceRecord, tenant: BoxTenant, { signal }: AbortController, work: () => Promise<T>): Promise<T> {
    await clean(record, tenant)
    signal.throwIfAborted()
    return work()
  }

  /** What an overtaken action made after the clean-up goes too. */
  async function cleanAgain({ tenant }: WorkspaceRecord): Promise<void> {
    if (tenant === null) return
    try {
      await runtime.dropOtherGenerations(tenant)
    } catch (error) {
      // Decision: the action's own answer matters more; what is left is found at the next start.
      log.warn('box-generations-kept', { workspace: tenant.namespace, problem: errorText(error) })
    }
  }

  return {
    async run(tenant, controller, work) {
      const record = known.get(tenant.namespace) ?? (await recordOf(tenant))
      const hadOthers = record.generation > 0
      const hasOvertaken = moveOn(record, tenant) && hadOthers
      const { active } = record
      active.add(controller)
      const [outcome] = await Promise.allSettled([fenced(record, tenant, controller, work)])
      active.delete(controller)
      if (hasOvertaken || record.generation !== tenant.generation) await cleanAgain(record)
      if (record.generation !== tenant.generation) throw stale()
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    },
    isCurrent({ namespace, generation }) {
      const record = known.get(namespace)
      return record === undefined || record.generation === 0 || record.generation === generation
    },
    onStale(tenant, listener) {
      const all = watchers.get(tenant.namespace) ?? new Set<Watcher>()
      watchers.set(tenant.namespace, all)
      const watcher = { tenant, listener }
      all.add(watcher)
      return () => {
        all.delete(watcher)
        if (all.size === 0 && watchers.get(tenant.namespace) === all) watchers.delete(tenant.namespace)
      }
    },
    only(instance) {
      const all = [...known.values()].flatMap(({ tenant }) => (tenant?.instance === instance ? [tenant] : []))
      return all.length === 1 ? (all[0] ?? null) : null
    },
  }
}
