/**
 * The service: a Box as the rest of a host uses it. Policy on this side of the wire, and an answer for everybody when there is none.
 *
 * A host without a Box works on: its status says why, its lists are empty, its tools are not offered, and what really needs a sandbox is
 * refused with the reason.
 */
import { stat } from 'node:fs/promises'
import { DEFAULT_PROCESS_ID, GENERATION_HEADER, physicalSessionId, placementNamespace, WORKSPACE_HEADER } from '@holdfast/protocol/box'
import type { BoxContext, BoxExecutionResult, BoxSessionInfo } from '@holdfast/protocol/box'
import type { AskOptions } from '../calls/ask.ts'
import type { BoxClient } from '../calls/box-client.ts'
import type { BoxManagedProcessSpecInput, BoxSpecInput } from '../calls/session-calls.ts'
import { checked } from '../checked.ts'
import { systemClock } from '../clock.ts'
import type { BoxClock } from '../clock.ts'
import type { BoxConnector } from '../connector/connector.ts'
import { reasonOf, silentLog } from '../log.ts'
import type { BoxLog } from '../log.ts'
import { OUTBOX, plainName, putInbound, takeOutbound } from './attachments.ts'
import type { BoxFile, Outbound } from './attachments.ts'
import { watchAvailability } from './availability.ts'
import type { Availability } from './availability.ts'
import { createErrorRing } from './error-ring.ts'
import type { BoxErrorRecord } from './error-ring.ts'
import { findProfile } from './profiles.ts'
import type { BoxProfile } from './profiles.ts'
import { requireBox } from './required.ts'
import { sessionIdOf } from './session-id.ts'
import type { BoxQuery } from './session-id.ts'
import { readBoxSettings } from './settings.ts'
import { createBoxSkills } from './skills.ts'
import type { BoxSkills } from './skills.ts'
import { buildSpec } from './spec.ts'
import { readBackendStatus, readStatus } from './status.ts'
import type { BackendStatus, BoxServiceStatus } from './status.ts'
import { EXEC_TOOL, ExecParameters, guidanceFor, toolResultOf } from './tools.ts'
import type { ExecToolResult, ToolDefinition } from './tools.ts'

export interface BoxServiceOptions {
  readonly connector: BoxConnector
  /** Whose calls these are, unless a call says otherwise. */
  readonly context: BoxContext
  /** The section `box` of the host's settings. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Instead of the four that are built in. */
  readonly profiles?: readonly BoxProfile[]
  /** Wins over every pipeline's template. */
  readonly forcedTemplate?: string
  readonly clock?: BoxClock
  readonly log?: BoxLog
  readonly isDirectory?: (path: string) => Promise<boolean>
}

/** A message that is being answered. */
export interface ServiceQuery extends BoxQuery {
  readonly context?: BoxContext
  /** Names of the skills that its pipeline shows. */
  readonly skills?: readonly string[]
}

export interface RelayAddress {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: 'mcp'
}

export interface BoxService {
  readonly enabled: boolean
  /** The connection and the backend, as last heard. */
  readonly available: boolean
  /** Why it is not available; `null` while it is. */
  readonly reason: string | null
  readonly context: BoxContext
  readonly skills: BoxSkills
  /** Settles after the first attempt to connect, when the backend was heard of; a failure is not thrown, it is the status. */
  start(): Promise<void>
  close(): Promise<void>
  /** As the server says now. */
  availability(): Promise<Availability>
  getStatus(context?: BoxContext): Promise<BoxServiceStatus>
  getBackendStatus(): Promise<BackendStatus>
  /** None when there is no server, or it does not answer. */
  getSessions(context?: BoxContext): Promise<readonly BoxSessionInfo[]>
  /** The last failures, oldest first. */
  getErrors(context?: BoxContext): readonly BoxErrorRecord[]
  sessionIdFor(query: ServiceQuery): string
  /** What to offer a model now: nothing while no sandbox can be had. */
  tools(): Promise<readonly ToolDefinition[]>
  guidance(query: ServiceQuery): string
  /** The tool `exec`, for the model's parameters. */
  exec(query: ServiceQuery, parameters: unknown, options?: AskOptions): Promise<ExecToolResult>
  /** For the host's own use, with all fields; the profile and the mounts are checked all the same. */
  createSession(spec: BoxSpecInput, context?: BoxContext): Promise<BoxSessionInfo>
  startProcess(sessionId: string, spec: BoxManagedProcessSpecInput, context?: BoxContext): ReturnType<BoxClient['startProcess']>
  /** Where the input and output of a process are. */
  relayOf(sessionId: string, processId?: string, context?: BoxContext): RelayAddress
  putInbound(query: ServiceQuery, files: readonly BoxFile[]): Promise<readonly string[]>
  takeOutbound(query: ServiceQuery): Promise<Outbound>
}

export function createBoxService(options: BoxServiceOptions): BoxService {
  const { connector, context: own, clock = systemClock, log = silentLog, forcedTemplate = '', isDirectory = seesDirectory } = options
  const { client } = connector
  const settings = readBoxSettings(options.settings, connector.sharesFiles)
  const rules = { settings, profile: findProfile(settings.profile, options.profiles) }
  const errors = createErrorRing(clock)
  const availability = watchAvailability(connector)
  const skills = createBoxSkills({ connector, log, isDirectory })
  const statusNeeds = { connector, availability, profile: rules.profile.name, errorCount: (of: BoxContext) => errors.of(of).length }
  const sessionIdFor = (query: ServiceQuery) => sessionIdOf(query, forcedTemplate)

  /** Keeps what went wrong for those who look after the host, and lets it go on. */
  async function recorded<T>(work: () => Promise<T>, context: BoxContext, query?: BoxQuery): Promise<T> {
    try {
      return await work()
    } catch (error) {
      errors.record(error, context, String(query?.query_id ?? ''))
      throw error
    }
  }

  /** One command in the session of a message: always the same session, whatever it is for. */
  async function run(query: ServiceQuery, wish: Omit<BoxSpecInput, 'session_id'>, ask?: AskOptions): Promise<BoxExecutionResult> {
    const context = query.context ?? own
    requireBox(connector, 'a command')
    const mounts = await skills.mountsFor(context, query.skills ?? [])
    return client.exec(context, buildSpec(rules, context, { ...wish, session_id: sessionIdFor(query) }, mounts), ask)
  }

  return {
    enabled: connector.isEnabled,
    get available() {
      return availability.known.available
    },
    get reason() {
      return availability.known.reason
    },
    context: own,
    skills,
    async start() {
      await connector.start()
      await availability.ask()
    },
    async close() {
      availability.close()
      await connector.close()
    },
    availability: availability.ask,
    getStatus: (context = own) => readStatus(statusNeeds, context),
    getBackendStatus: () => readBackendStatus(statusNeeds),
    async getSessions(context = own) {
      if (!connector.isConnected) return []
      try {
        return await client.getSessions(context)
      } catch (error) {
        log.warn('box: the sessions could not be listed', { reason: reasonOf(error) })
        return []
      }
    },
    getErrors: (context = own) => errors.of(context),
    sessionIdFor,
    tools: async () => ((await availability.ask()).available ? [EXEC_TOOL] : []),
    guidance: (query) => guidanceFor(`${OUTBOX}/${attachmentKey(query)}`),
    exec: (query, parameters, ask) =>
      recorded(
        async () => {
          const { command, description: _description, ...rest } = checked(ExecParameters, parameters)
          return toolResultOf(await run(query, { cmd: command, ...rest }, ask))
        },
        query.context ?? own,
        query,
      ),
    createSession: (spec, context = own) =>
      recorded(async () => {
        requireBox(connector, 'a session')
        return client.createSession(context, buildSpec(rules, context, spec))
      }, context),
    startProcess: (sessionId, spec, context = own) =>
      recorded(async () => {
        requireBox(connector, 'a managed process')
        return client.startProcess(context, sessionId, spec)
      }, context),
    relayOf(sessionId, processId = DEFAULT_PROCESS_ID, context = own) {
      const { instance_uuid: instance, workspace_uuid: workspace, placement_generation: generation } = context
      const id = physicalSessionId(placementNamespace(instance, workspace, generation), sessionId)
      const url = `${connector.relay.url.replace(/^http/, 'ws')}/v1/sessions/${id}/managed-process/${encodeURIComponent(processId)}/ws`
      const headers = { ...connector.relay.headers, [WORKSPACE_HEADER]: workspace, [GENERATION_HEADER]: String(generation) }
      return { url, headers, protocol: 'mcp' }
    },
    putInbound: (query, files) =>
      recorded(() => putInbound((cmd) => run(query, { cmd }), attachmentKey(query), files), query.context ?? own, query),
    takeOutbound: (query) => recorded(() => takeOutbound((cmd) => run(query, { cmd }), attachmentKey(query)), query.context ?? own, query),
  }
}

function attachmentKey({ query_uuid: uuid, query_id: id }: BoxQuery): string {
  return plainName(uuid === undefined || uuid === '' ? String(id) : uuid)
}

async function seesDirectory(path: string): Promise<boolean> {
  // Decision: what cannot be looked at is not there, and the skill is left out with a warning.
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
