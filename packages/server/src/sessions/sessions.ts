/**
 * The promise, put together: sessions that are kept in the store, served by sandboxes, and moved on by time.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Reads like a table of contents of this folder. What follows from a change (a clean-up, a sandbox to destroy, a deadline to wait
 * for) follows from the changed row alone, in one place here, so that it is the same whoever changed it and after any crash.
 */
import type { Sealing } from '../home/sealing.ts'
import type { BackendKind, SandboxBackend } from '../sandboxes/backend.ts'
import type { LiveOptions } from '../sandboxes/live-sandbox.ts'
import type { Store } from '../store/store.ts'
import { findSandbox } from '../store/tables/sandboxes.ts'
import { closingSessions, hostedSessions } from '../store/tables/sessions.ts'
import type { SessionRef, SessionRow } from '../store/tables/sessions.ts'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'
import { unobserved } from '../telemetry/observations.ts'
import { createAbandonedExecutions } from './abandoned-executions.ts'
import { createActivity } from './activity.ts'
import type { Activity } from './activity.ts'
import { createAttendance } from './attendance.ts'
import { SYSTEM } from './caller.ts'
import { createChanges } from './change.ts'
import { createClaiming } from './claiming.ts'
import { createCleanUp } from './clean-up.ts'
import { createCredentials } from './credentials/credentials.ts'
import type { Credentials } from './credentials/credentials.ts'
import { createCredentialRemoval, isMarked } from './credentials/removal.ts'
import { createWithdrawal } from './credentials/withdrawal.ts'
import { createDenials } from './denials.ts'
import { endSessionsOfEndedTenants } from './ended-tenants.ts'
import type { EventListeners } from './events/event-listeners.ts'
import { createEviction } from './eviction.ts'
import { createCancelling } from './executions/cancelling.ts'
import { createExecutions } from './executions/executions.ts'
import { keptSeqOf } from './executions/output-log.ts'
import { createFleet } from './fleet.ts'
import { createGetting } from './getting.ts'
import type { GetOrCreate, GettingNeeds } from './getting.ts'
import type { Habitats } from './habitats.ts'
import { createInsides } from './insides.ts'
import { createInteraction } from './interaction.ts'
import type { Interaction } from './interaction.ts'
import { createKeptStorage, RECORD_BYTES } from './kept-storage.ts'
import type { KeptStorage } from './kept-storage.ts'
import { suspend } from './lifecycle/compute.ts'
import type { SessionTimes } from './lifecycle/creation.ts'
import { comeDue } from './lifecycle/due.ts'
import type { EventDraft } from './lifecycle/step.ts'
import { losing } from './losing.ts'
import { observeChange, observedExecutions, observedGetting, observedReadiness, observedRunning } from './observed.ts'
import type { SessionsObserver } from './observed.ts'
import type { PackRules } from './packing.ts'
import { createAttaching } from './processes/attaching.ts'
import { endLeftBehind } from './processes/left-behind.ts'
import { pidOf } from './processes/process-id.ts'
import { createProcessKeeper } from './processes/process-keeper.ts'
import { linesOpener } from './processes/process-lines.ts'
import { createProcessOutputs } from './processes/process-outputs.ts'
import { createProcesses } from './processes/processes.ts'
import type { Processes } from './processes/processes.ts'
import { createProcessStreams } from './processes/process-streams.ts'
import type { ProcessStreams } from './processes/process-streams.ts'
import { storedPlaces } from './processes/stored-places.ts'
import { createPlaces } from './places.ts'
import type { PlacesNeeds } from './places.ts'
import { createProvisioning } from './provisioning.ts'
import { purge } from './purge.ts'
import type { QuotaLimits, Quotas } from './quotas.ts'
import { createReachingAgain } from './reaching-again.ts'
import { createReadiness } from './readiness.ts'
import { backendKind, createReaper } from './reaper.ts'
import { createReconciler } from './reconciler.ts'
import { recover } from './recovery.ts'
import type { Recovered } from './recovery.ts'
import { createRetention } from './retention.ts'
import { createRunning } from './running.ts'
import type { Running } from './running.ts'
import type { ServerLease } from './server-lease.ts'
import { sessionFiles } from './session-files.ts'
import type { SessionFiles } from './session-files.ts'
import { createSessionPorts } from './session-ports.ts'
import type { SessionPorts } from './session-ports.ts'
import { sessionReads } from './session-reads.ts'
import type { SessionReads } from './session-reads.ts'
import { createSessionUses } from './session-uses.ts'
import { createSteering } from './steering.ts'
import type { Steering } from './steering.ts'
import { createSweep } from './sweep.ts'
import { createTerminals } from './terminals.ts'
import type { Terminals } from './terminals.ts'
import { takingUp } from './taking-up.ts'
import { createStoreRetries } from './until-stored.ts'
import type { Measuring } from './workspace-quota/measuring.ts'
import { createWorkspaceQuota } from './workspace-quota/workspace-quota.ts'

/** After these a process may have to be started again. */
const PROCESSES_MOVE: ReadonlySet<EventDraft['type']> = new Set(['process.ended', 'session.resumed', 'session.rebound'])
export interface Sessions {
  /** Does not wait for its sandbox. */
  readonly getOrCreate: GetOrCreate
  readonly reads: SessionReads
  readonly steering: Steering
  readonly credentials: Credentials
  readonly commands: Running & Interaction
  readonly processes: Processes
  /** Those that run, from inside this server. */
  readonly streams: ProcessStreams
  readonly terminals: Terminals
  readonly files: SessionFiles
  /** What listens inside. */
  readonly ports: SessionPorts
  readonly activity: Pick<Activity, 'note'>
  /** Of an execution that runs here, as its sandbox counts; `null` for any other, or when it cannot be asked. */
  pidOf(executionId: string): Promise<number | null>
  /** Ends what an execution that has ended left running. */
  endLeftBehind(session: SessionRef, executionId: string): Promise<void>
  /** How much each tenant keeps. */
  readonly kept: Pick<KeptStorage, 'add' | 'used' | 'total' | 'assertRoom'>
  /** Commands that callers attend at this moment. */
  readonly attended: number
  /** Sessions whose sandbox is being made at this moment. */
  readonly waiting: number
  /** Sandboxes that this server is connected to. */
  readonly sandboxes: number
  /** Handles what is due now and removes what is past its age; the timer does so by itself. */
  sweep(): Promise<void>
  /** Takes up what an earlier life of this server left. Call it once, before the first request. */
  recover(): Promise<Recovered>
  /** Refuses new work, waits up to `drainMs` for attended commands, and lets go of the sandboxes: what runs in them runs on. */
  close(drainMs: number): Promise<void>
}

export interface SessionsNeeds {
  readonly store: Store
  readonly listeners: EventListeners
  readonly lease: ServerLease
  readonly clock: () => number
  readonly log: Log
  readonly quotas: Quotas
  /** For commands that are kept to be started again, and for credentials. */
  readonly sealing: Sealing
  readonly habitats: Habitats
  /** Which backend new sandboxes are made on. */
  readonly backend: BackendKind
  openBackend(kind: BackendKind): Promise<SandboxBackend>
  readonly live?: LiveOptions
  readonly outputDirectory: string
  readonly times: SessionTimes & { readonly isIdleFixed: boolean }
  readonly packing: PackRules
  readonly maxSandboxes: number
  readonly whenFull: PlacesNeeds['whenFull']
  /** Executions at one time in one session. */
  readonly maxRunning: number
  /** How long a terminal waits for a client that vanished. */
  readonly terminalGraceMs: number
  /** Whether sandboxes run on when this server stops, or their sessions are suspended. */
  readonly onStop: 'keep' | 'suspend'
  readonly eventRetentionMs: number
  /** Where a tenant says nothing. */
  readonly quotaDefaults: QuotaLimits
  readonly measuring: Measuring
  /** In each workspace that has a bound. */
  readonly maxWorkspaceEntries: number
  readonly completeWish: GettingNeeds['completeWish']
  readonly checkWish: GettingNeeds['checkWish']
  readonly observer?: SessionsObserver
}

export function createSessions(needs: SessionsNeeds): Sessions {
  const { store, listeners, lease, clock, log, quotas, habitats, times, packing, outputDirectory, onStop, sealing } = needs
  const { observer = unobserved } = needs
  const { serverId } = lease
  const placement = { serverId, backend: needs.backend, maxSandboxes: needs.maxSandboxes }
  let isStopping = false

  const retries = createStoreRetries(log)
  const denials = createDenials(store, clock)
  const reads = sessionReads(store, denials)
  const changes = createChanges({ store, listeners, clock, onChanged: follow })
  const claiming = createClaiming({ store, changes, lease, clock, log })
  const lose = losing({
    ...{ store, changes, keptSeq: (id) => keptSeqOf({ directory: outputDirectory, id }) },
    started: (ids) => executions.started(ids),
    async overrunOf(id) {
      const row = await store.read((sql) => findSandbox(sql, id))
      return row === null ? null : ((await needs.openBackend(backendKind(row.backend))).overrunOf?.(id) ?? null)
    },
  })
  const kept = createKeptStorage({
    ...{ store, serverId, clock, log, outputDirectory, defaults: needs.quotaDefaults },
    ...{ recordMs: times.recordMs, eventRetentionMs: needs.eventRetentionMs },
  })
  const executions = observedExecutions(
    createExecutions({
      ...{ store, changes, retries, log, clock, maxRunning: needs.maxRunning, sealing, outputDirectory },
      onOutput: observer.outputPrinted,
      onKept: keepOutput,
    }),
    observer,
  )
  const cancelling = createCancelling({ store, executions, clock })
  const fleet = createFleet({
    openBackend: needs.openBackend,
    live: { clock, ...needs.live },
    onFound: takingUp({ store, executions, cancelling }),
    onGone: (id) =>
      void retries
        .untilStored('sandbox-loss', { sandbox: id }, () => lose(id))
        .catch((error: unknown) => log.error('loss-not-recorded', { sandbox: id, error: errorText(error) })),
    observer,
  })
  const workspaceQuota = createWorkspaceQuota({
    ...{ measuring: needs.measuring, maxEntries: needs.maxWorkspaceEntries, placesOf: habitats.placesOf },
    ...{ serverId, changes, cancelling, fleet, log },
  })
  const reaper = createReaper({ store, fleet, serverId, log })
  const evict = createEviction({ store, fleet, serverId })
  const activity = createActivity(changes, clock)
  const uses = createSessionUses()
  const places = createPlaces({
    ...{ store, changes, fleet, reaper, uses, activity, placement, whenFull: needs.whenFull, clock, log, observer },
    isConnected: (id) => ports.isConnected(id),
  })
  const provisioning = createProvisioning({ store, reads, changes, fleet, evict, reaper, habitats, vacated: places.vacated, log })
  const cleanUp = createCleanUp({ store, reads, changes, fleet, evict, provisioning, cancelling, habitats, clock, log })
  const readiness = observedReadiness(
    createReadiness({ store, reads, changes, fleet, provisioning, claiming, lose, quotas, placement, places, packing, clock }),
    observer,
  )
  const reachingAgain = createReachingAgain({ reads, readiness, log })
  const reconciler = createReconciler({ store, serverId, reads, executions, cancelling, fleet, onUnreached: reachingAgain.add, log })
  const { completeWish, checkWish } = needs
  const getting = observedGetting(
    createGetting({ store, reads, changes, claiming, listeners, quotas, placement, places, packing, times, completeWish, checkWish }),
    observer,
  )
  const credentialRemoval = createCredentialRemoval({ store, serverId, reads, changes, readiness, executions, cancelling, log })
  const withdrawal = createWithdrawal({ changes, removal: credentialRemoval })
  const credentials = createCredentials({ sealing, reads, changes, readiness, withdrawal })
  const steering = createSteering({ reads, changes, readiness, cancelling, checkWish, withdrawal })
  const abandoned = createAbandonedExecutions({
    ...{ store, serverId, executions, cancelling, fleet, log, graceMs: needs.terminalGraceMs, maxAttendants: needs.maxRunning },
  })
  const running = observedRunning(
    createRunning({
      ...{
        store,
        reads,
        getOrCreate: getting,
        readiness,
        executions,
        cancelling,
        fleet,
        lease,
        outputDirectory,
        workspaceQuota,
        abandoned,
      },
    }),
    observer,
  )
  const retention = createRetention(kept.rules, log)
  const sweep = createSweep({ store, serverId, clock, log, prepare, handle: handleDue, tidy })
  const attended = createAttendance()
  const insides = createInsides({ reads, readiness, activity, attended, uses })
  const ports = createSessionPorts({ reads, readiness, activity })
  const interaction = createInteraction({ store, reads, executions, lease, activity })
  const commands: Running & Interaction = {
    ...running,
    ...interaction,
    run: (caller, target, request, signal, attend) =>
      attended.during(signal, (ended) => running.run(caller, target, request, ended, attend)),
    resume: (caller, id, signal, attend) => attended.during(signal, (ended) => running.resume(caller, id, ended, attend)),
    start: (caller, target, request, signal) => attended.during(signal, (ended) => running.start(caller, target, request, ended)),
    input: (caller, session, id, input, signal) => attended.along(signal, (ended) => interaction.input(caller, session, id, input, ended)),
  }
  const streams = createProcessStreams({ store, reads, executions, lease, activity })
  const outputs = createProcessOutputs({ streams, places: storedPlaces(store), mostEnded: () => 0, log })
  const attaching = createAttaching({ store, reads, executions, lease, activity, running: commands })
  const processes = createProcesses({
    ...{ store, sealing, reads, executions, running: commands, maxKept: needs.maxRunning },
    attaching,
    attachedTo: (id) => attaching.attachedTo(id) + (outputs.held(id)?.line.attached ?? 0),
    openLines: linesOpener(outputs),
  })
  const keeper = createProcessKeeper({ store, retries, sealing, reads, running: commands, serverId, outputDirectory, clock, log })
  const terminals = createTerminals({ store, reads, executions, lease, activity, running: commands, abandoned })

  function keepOutput(tenantId: string, bytes: number, endedAt: number): void {
    kept.add(tenantId, 'output', RECORD_BYTES + bytes, endedAt)
  }

  /** What a changed row asks for. Only the server that hosts it acts on it; the others leave it to that one's sweep. */
  function follow(before: SessionRow | null, session: SessionRow, events: readonly EventDraft[]): void {
    observeChange(observer, session, events)
    if (events.length > 0) kept.add(session.tenantId, 'events', events.length, clock())
    ports.follow(session)
    places.follow(before, session)
    if (!isStopping) workspaceQuota.follow(session, before?.pendingReason === 'create')
    if (session.serverId !== serverId || isStopping) return
    const earlier = before?.sandboxId ?? null
    if (earlier !== null && earlier !== session.sandboxId) void reaper.reap(earlier)
    // At the latest when it is served again; now is when nobody needs it any more.
    if (earlier !== null && session.state === 'suspended')
      evict(session).catch((error: unknown) => log.warn('session-not-evicted', { session: session.id, error: errorText(error) }))
    if (events.some(({ type }) => type === 'home.reset')) void removeOldHomes(earlier, session)
    if (session.state === 'closing') void cleanUp.run(session)
    if (before?.credentials !== session.credentials && session.credentials.some(isMarked)) removeMarked(session)
    if (session.state === 'pending' && before?.state !== 'pending')
      provisioning.ensure(session).catch((error: unknown) => log.warn('sandbox-not-made', { session: session.id, error: errorText(error) }))
    if (events.some(({ type }) => PROCESSES_MOVE.has(type))) keeper.look(session)
    if (session.deadlineAt !== null) sweep.expect(session.deadlineAt)
  }

  /** What fails is tried again when its next sandbox is made. */
  async function removeOldHomes(earlier: string | null, session: SessionRow): Promise<void> {
    try {
      if (earlier !== null) await reaper.reap(earlier)
      await evict(session)
      await habitats.removeOldHomes(session)
    } catch (error) {
      log.warn('old-home-not-removed', { session: session.id, error: errorText(error) })
    }
  }

  /** What fails is logged and tried again there. */
  function removeMarked(session: SessionRow): void {
    credentialRemoval.run(session).catch(() => undefined)
  }

  async function prepare(): Promise<void> {
    ports.note()
    await activity.flush()
    await claiming.adopt()
  }

  async function handleDue(ref: SessionRef): Promise<boolean> {
    let isMoved = false
    const session = await changes.change(ref, { actor: SYSTEM, action: 'session.come-due' }, (row, _transaction, now) => {
      const due = comeDue(row, now)
      isMoved = due.session !== row
      return due
    })
    if (isMoved || session.deadlineAt === null || session.deadlineAt > clock()) return isMoved
    if (session.deadline === 'cleanup') await cleanUp.run(session)
    if (session.deadline === 'record') await purge({ store, habitats, clock, outputDirectory }, session)
    return false
  }

  async function tidy(): Promise<void> {
    await reconciler.run()
    await endSessionsOfEndedTenants({ store, changes, serverId, log, clock })
    void reachingAgain.tryAll()
    for (const ref of await store.read((sql) => closingSessions(sql, serverId))) void cleanUp.run(ref)
    await reaper.reapAll()
    // Not awaited: a round may take minutes, and deadlines do not wait for it.
    void retention.run()
  }

  return {
    reads,
    steering,
    credentials,
    kept,
    activity,
    files: sessionFiles(insides, workspaceQuota),
    ports,
    getOrCreate: (caller, request, signal) => attended.during(signal, (ended) => getting(caller, request, ended)),
    commands,
    processes,
    streams,
    terminals,
    pidOf: (executionId) => pidOf(executions, executionId),
    endLeftBehind: (session, executionId) => endLeftBehind({ store, fleet }, session, executionId),
    get attended() {
      return attended.count
    },
    get waiting() {
      return provisioning.count
    },
    get sandboxes() {
      return fleet.count
    },
    async sweep() {
      await sweep.run()
      await retention.run()
    },
    async recover() {
      const onUnreached = reachingAgain.add
      const recovered = await recover({ store, serverId, changes, fleet, provisioning, cleanUp, reaper, lose, onUnreached, log })
      await abandoned.recover()
      await keeper.recover()
      for (const session of await store.read((sql) => hostedSessions(sql, serverId))) {
        workspaceQuota.follow(session)
        if (session.credentials.some(isMarked)) removeMarked(session)
      }
      return recovered
    },
    async close(drainMs) {
      abandoned.stop()
      keeper.stop()
      await attended.stop(drainMs, onStop === 'keep')
      await sweep.stop()
      await retention.stop()
      await kept.refresh().catch((error: unknown) => log.warn('kept-not-counted', { error: errorText(error) }))
      await activity.flush()
      await outputs.close()
      if (onStop === 'suspend') await suspendAll()
      isStopping = true
      credentialRemoval.stop()
      retries.stop()
      workspaceQuota.stop()
      provisioning.stop()
      await cleanUp.stop()
      await fleet.detach()
    },
  }

  async function suspendAll(): Promise<void> {
    for (const { id, tenantId, state } of await store.read((sql) => hostedSessions(sql, serverId))) {
      if (state !== 'idle' && state !== 'active') continue
      await changes
        .change({ id, tenantId }, { actor: SYSTEM, action: 'session.suspend' }, (row, _transaction, now) =>
          suspend(row, 'server_stopped', now),
        )
        .catch((error: unknown) => log.warn('session-not-suspended', { session: id, error: errorText(error) }))
    }
    await reaper.reapAll()
  }
}
