/**
 * One session: its commands, files, processes and terminals, and what may be done to it as a whole.
 *
 * Leaving a block that holds one with `await using` lets go of this program's streams and nothing more: the conversation goes on, and
 * the next program that asks for its key finds it. `release` ends it.
 */
import type { SessionRecord as WireSession } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { createCommands } from './commands.ts'
import type { Commands } from './commands.ts'
import { createCredentials } from './credentials.ts'
import type { Credentials } from './credentials.ts'
import { followEvents } from './events.ts'
import type { EventOptions, SessionEvent } from './events.ts'
import type { Killed } from './execution-record.ts'
import type { KillOptions } from './execution.ts'
import { createFiles } from './files.ts'
import type { Files } from './files.ts'
import { makePreview } from './previews.ts'
import type { Preview, PreviewOptions } from './previews.ts'
import { createProcesses } from './processes.ts'
import type { Processes } from './processes.ts'
import { sessionRecord } from './session-record.ts'
import type { SessionRecord, SessionView } from './session-record.ts'
import { createTerminals } from './terminals.ts'
import type { Terminals } from './terminals.ts'
import { createSessionTools } from './tools.ts'
import type { SessionTools } from './tools.ts'
import type { Transport } from './transport/transport.ts'
import { snake } from './wire-names.ts'

export interface ReleaseOptions extends CallOptions {
  /** What to do about running work: wait for it (unless given), refuse, or kill it. */
  readonly ifBusy?: 'wait' | 'fail' | 'kill' | undefined
  /** For how long the server waits for it. */
  readonly drainSeconds?: number | undefined
  /** What becomes of the workspace. */
  readonly workspace?: 'delete' | 'keep' | undefined
}

export interface RefreshOptions extends CallOptions {
  /** A new length of the lease; without it the present one counts from now. */
  readonly leaseSeconds?: number | undefined
  /** A refresh moves the end of a lease to a later time only, unless this is `true`. */
  readonly allowShorten?: boolean | undefined
}

export interface VersionOptions extends CallOptions {
  /** Only if it still has this version. */
  readonly ifVersion?: number | undefined
}

export interface UpdateOptions extends VersionOptions {
  /** In place of all labels. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

export interface SuspendOptions extends CallOptions {
  /** Credentials of the session stay for its next sandbox. */
  readonly keepCredentials?: boolean | undefined
  /** Refuses with `session_busy` instead of ending executions that received a credential. */
  readonly keepRunning?: boolean | undefined
}

export interface TransferOptions extends VersionOptions {
  readonly owner: string
  readonly ownerGroup?: string | null | undefined
  /** Does not end executions that received a credential: `keptRunning` of the record names them. */
  readonly keepRunning?: boolean | undefined
}

export interface Session extends AsyncDisposable {
  readonly id: string
  readonly key: string
  /** As the server described it last. */
  readonly record: SessionRecord
  readonly commands: Commands
  readonly files: Files
  readonly processes: Processes
  readonly credentials: Credentials
  readonly pty: Terminals
  /** The calls of a model that works in it. */
  readonly tools: SessionTools
  /** A link by which a browser reaches what listens on this port inside, without a key. */
  preview(port: number, options?: PreviewOptions): Promise<Preview>
  /** What happens to it, from its first event on unless `after` says otherwise; `after` is a `seq`. */
  events(options?: EventOptions<number>): AsyncIterable<SessionEvent>
  /** Reads its record anew; this is no activity. */
  reload(options?: CallOptions): Promise<SessionRecord>
  /** Counts as activity, and moves the lease. */
  refresh(options?: RefreshOptions): Promise<SessionRecord>
  /** Gives up its sandbox and keeps its workspace. Executions that received a credential are ended first. */
  suspend(options?: SuspendOptions): Promise<SessionRecord>
  /** Asks for a sandbox again; does not wait for it. */
  resume(options?: CallOptions): Promise<SessionRecord>
  /** Kills what runs; the session lives on. `processes`: named ones too. */
  cancelWork(options?: KillOptions & { readonly processes?: boolean | undefined }): Promise<Killed>
  /** Ends it and kills what runs. */
  cancel(options?: CallOptions): Promise<SessionRecord>
  /** Ends it after its work. */
  release(options?: ReleaseOptions): Promise<SessionRecord>
  /** Gives up its sandbox and empties its home; the workspace stays. `ifBusy: 'kill'` ends what runs first, otherwise that is refused. */
  resetHome(options?: CallOptions & { readonly ifBusy?: 'fail' | 'kill' | undefined }): Promise<SessionRecord>
  /** An operator keeps it from working and from idling out. */
  hold(options?: CallOptions & { readonly reason?: string | undefined }): Promise<SessionRecord>
  unhold(options?: CallOptions): Promise<SessionRecord>
  /** Gives it to somebody else, as it was when its record was read unless `ifVersion` says otherwise. */
  transfer(options: TransferOptions): Promise<SessionRecord>
  /** As its owner: accepts the transfer that `pendingTransfer` shows, by naming the new owner. */
  acceptTransfer(options: Omit<TransferOptions, 'ifVersion'>): Promise<SessionRecord>
  /** Rejects it, or takes the request back. */
  rejectTransfer(options?: CallOptions): Promise<SessionRecord>
  /** Replaces its labels or its metadata. */
  update(options: UpdateOptions): Promise<SessionRecord>
  /** Lets go of its streams here; with `release: 'on-dispose'` also ends it. */
  [Symbol.asyncDispose](): Promise<void>
}

export interface SessionNeeds {
  readonly transport: Transport
  readonly record: SessionRecord
  readonly isReleasedOnDispose: boolean
}

export function createSession({ transport, record: first, isReleasedOnDispose }: SessionNeeds): Session {
  const letting = new AbortController()
  const letGo = letting.signal
  const path = `/v1/sessions/${first.id}`
  let record = first
  const session = (): SessionView => ({
    id: record.id,
    key: record.key,
    incarnation: record.incarnation,
    workspace: record.workspace,
    notice: null,
  })

  async function told(asking: Promise<WireSession>): Promise<SessionRecord> {
    record = sessionRecord(await asking)
    return record
  }
  const post = (verb: string, options: CallOptions, json: object = {}, headers: Readonly<Record<string, string>> = {}) =>
    told(transport.json<WireSession>({ method: 'POST', path: `${path}/${verb}`, json, headers, ...callOf(options) }))
  const reload = (options: CallOptions = {}) => told(transport.json<WireSession>({ path, ...callOf(options) }))
  const release = ({ ifBusy, drainSeconds, workspace, ...options }: ReleaseOptions = {}) =>
    post('release', options, snake({ ifBusy, drainSeconds, workspace }))

  return {
    id: first.id,
    key: first.key,
    get record() {
      return record
    },
    commands: createCommands({ transport, session, letGo }),
    files: createFiles({ transport, sessionId: first.id, letGo }),
    processes: createProcesses({ transport, session, letGo }),
    credentials: createCredentials(transport, first.id),
    pty: createTerminals({ transport, session, letGo }),
    tools: createSessionTools({ transport, sessionId: first.id }),
    preview: (port, options = {}) => makePreview(transport, first.id, port, options),
    events: (options = {}) =>
      followEvents(
        {
          ...{ transport, path: `${path}/events`, letGo },
          placeOf: ({ seq }) => seq,
          now: async () => (await reload({ signal: options.signal })).eventSeq,
          resume: ({ details }) => (typeof details['seq'] === 'number' ? details['seq'] : record.eventSeq),
        },
        options,
      ),
    reload,
    refresh: ({ leaseSeconds, allowShorten, ...options } = {}) => post('refresh', options, snake({ leaseSeconds, allowShorten })),
    suspend: ({ keepCredentials, keepRunning, ...options } = {}) => post('suspend', options, snake({ keepCredentials, keepRunning })),
    resume: (options = {}) => post('resume', options),
    cancelWork: ({ graceMs, processes, ...options } = {}) =>
      transport.json<Killed>({ method: 'POST', path: `${path}/cancel-work`, json: snake({ graceMs, processes }), ...callOf(options) }),
    cancel: (options = {}) => post('cancel', options),
    release,
    resetHome: ({ ifBusy, ...options } = {}) => post('home/reset', options, snake({ ifBusy })),
    hold: ({ reason, ...options } = {}) => post('hold', options, snake({ reason })),
    unhold: (options = {}) => post('unhold', options),
    transfer: ({ owner, ownerGroup, keepRunning, ifVersion = record.version, ...options }) =>
      post('transfer', options, snake({ owner, ownerGroup, keepRunning }), ifMatch(ifVersion)),
    acceptTransfer: ({ owner, ownerGroup, keepRunning, ...options }) =>
      post('transfer/accept', options, snake({ owner, ownerGroup, keepRunning })),
    rejectTransfer: (options = {}) => post('transfer/reject', options),
    update: ({ labels, metadata, ifVersion, ...options }) =>
      told(
        transport.json<WireSession>({
          ...{ method: 'PATCH', path, json: snake({ labels, metadata }) },
          ...(ifVersion === undefined ? {} : { headers: ifMatch(ifVersion) }),
          ...callOf(options),
        }),
      ),
    async [Symbol.asyncDispose]() {
      if (letGo.aborted) return
      letting.abort(new DOMException('the session was let go of', 'AbortError'))
      if (isReleasedOnDispose) await release()
    },
  }
}

/** A version as the header that the server compares. */
export function ifMatch(version: number): Record<string, string> {
  return { 'if-match': `"${version}"` }
}
