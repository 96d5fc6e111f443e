/**
 * A thin client of the Docker Engine API, which Docker and Podman both speak: the dozen endpoints that sandboxes need.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * "Not found" is an answer (`null`, or nothing to do); every other refusal is a `backend_unavailable` that carries the
 * engine's own words and its status. Why no client library: docs/adr/0004-engine-api-client.md
 */
import { HoldfastError } from '@holdfast/protocol'
import type { z } from 'zod'
import {
  CreatedContainer,
  EngineImage,
  EngineInfo,
  EngineNetworks,
  EngineRefusal,
  EngineVersion,
  InspectedContainer,
  ListedContainers,
} from './engine-answers.ts'
import type { EngineAddress } from './engine-address.ts'
import { engineTransport, type EngineRequest, type EngineResponse } from './engine-transport.ts'

/** The one call in which the engines differ: each has its own words for a container. */
export interface CreateRequest {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body: unknown
}

export interface EngineClient {
  readonly engine: string
  readonly address: EngineAddress
  version(signal: AbortSignal): Promise<EngineVersion>
  info(signal: AbortSignal): Promise<EngineInfo>
  networkNames(signal: AbortSignal): Promise<readonly string[]>
  inspectImage(reference: string, signal: AbortSignal): Promise<EngineImage | null>
  /** Hands on the engine's progress lines as they are (JSON). Resolves at their end, which may still be a failure: the last lines say. */
  pullImage(reference: string, onLine: (line: string) => void, signal: AbortSignal): Promise<void>
  createContainer(request: CreateRequest, signal: AbortSignal): Promise<CreatedContainer>
  startContainer(name: string, signal: AbortSignal): Promise<void>
  pauseContainer(name: string, signal: AbortSignal): Promise<void>
  /** Also when it is not paused, or gone. */
  unpauseContainer(name: string, signal: AbortSignal): Promise<void>
  inspectContainer(name: string, signal: AbortSignal): Promise<InspectedContainer | null>
  /** Running or not. */
  listContainers(labels: readonly string[], signal: AbortSignal): Promise<ListedContainers>
  /** Kills and removes it with its anonymous volumes. `gone` also when it never was; `busy` while another removal is under way. */
  removeContainer(name: string, signal: AbortSignal): Promise<'gone' | 'busy'>
  /** For endpoints that only one engine has. */
  get<T extends z.ZodType>(path: string, schema: T, signal: AbortSignal): Promise<z.output<T>>
  close(): void
}

/** Bind mounts that leave submounts out came with 1.40. */
export const OLDEST_API = '1.40'
/** The newest that this client was written against. An engine that speaks a newer one also speaks this one. */
export const NEWEST_API = '1.51'

/** How much of an engine's message reaches people. */
const MAX_REASON_CHARACTERS = 500

export function engineClient(engine: string, address: EngineAddress): EngineClient {
  const transport = engineTransport(engine, address)
  let prefix: Promise<string> | null = null

  async function negotiate(signal: AbortSignal): Promise<string> {
    const version = await client.version(signal)
    const chosen = compareVersions(version.ApiVersion, NEWEST_API) < 0 ? version.ApiVersion : NEWEST_API
    if (compareVersions(chosen, OLDEST_API) < 0 || compareVersions(chosen, version.MinAPIVersion) < 0) {
      throw new HoldfastError(
        'backend_unavailable',
        `${engine} ${version.Version} speaks API ${version.MinAPIVersion} to ${version.ApiVersion}, but ${OLDEST_API} to ${NEWEST_API} is needed`,
        { engine, apiVersion: version.ApiVersion },
      )
    }
    return `/v${chosen}`
  }

  async function send(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    prefix ??= negotiate(signal).catch((error: unknown) => {
      prefix = null
      throw error
    })
    return transport.send({ ...request, path: (await prefix) + request.path }, signal)
  }

  function parsed<T extends z.ZodType>(response: EngineResponse, request: EngineRequest, schema: T): z.output<T> {
    const result = schema.safeParse(parseJson(response.text))
    if (result.success) return result.data
    throw new HoldfastError(
      'backend_unavailable',
      `${engine} answered ${request.method} ${request.path} in an unknown shape`,
      { engine },
      { cause: result.error },
    )
  }

  function refused(response: EngineResponse, doing: string): HoldfastError {
    const refusal = EngineRefusal.safeParse(parseJson(response.text))
    const reason = (refusal.success ? refusal.data.message : response.text).trim().slice(0, MAX_REASON_CHARACTERS)
    const cause = new Error(reason)
    return new HoldfastError(
      'backend_unavailable',
      `${engine} could not ${doing}: ${reason}`,
      { engine, status: response.status, reason },
      { cause },
    )
  }

  async function ask<T extends z.ZodType>(request: EngineRequest, doing: string, schema: T, signal: AbortSignal): Promise<z.output<T>> {
    const response = await send(request, signal)
    if (!isSuccess(response)) throw refused(response, doing)
    return parsed(response, request, schema)
  }

  async function find<T extends z.ZodType>(
    request: EngineRequest,
    doing: string,
    schema: T,
    signal: AbortSignal,
  ): Promise<z.output<T> | null> {
    const response = await send(request, signal)
    if (response.status === 404) return null
    if (!isSuccess(response)) throw refused(response, doing)
    return parsed(response, request, schema)
  }

  async function order(request: EngineRequest, doing: string, signal: AbortSignal): Promise<void> {
    const response = await send(request, signal)
    // 304: it already is as ordered.
    if (!isSuccess(response) && response.status !== 304) throw refused(response, doing)
  }

  const client: EngineClient = {
    engine,
    address,
    async version(signal) {
      const request = { method: 'GET', path: '/version' } as const
      const response = await transport.send(request, signal)
      if (!isSuccess(response)) throw refused(response, 'tell its version')
      return parsed(response, request, EngineVersion)
    },
    info: (signal) => ask({ method: 'GET', path: '/info' }, 'describe itself', EngineInfo, signal),
    async networkNames(signal) {
      const networks = await ask({ method: 'GET', path: '/networks' }, 'list its networks', EngineNetworks, signal)
      return networks.map((network) => network.Name)
    },
    inspectImage: (reference, signal) =>
      find({ method: 'GET', path: `/images/${reference}/json` }, `look up the image ${reference}`, EngineImage, signal),
    pullImage: (reference, onLine, signal) =>
      order({ method: 'POST', path: '/images/create', query: { fromImage: reference }, onLine }, `pull the image ${reference}`, signal),
    createContainer: (request, signal) => ask({ method: 'POST', ...request }, 'create the sandbox', CreatedContainer, signal),
    startContainer: (name, signal) => order({ method: 'POST', path: `/containers/${name}/start` }, 'start the sandbox', signal),
    pauseContainer: (name, signal) => order({ method: 'POST', path: `/containers/${name}/pause` }, 'pause the sandbox', signal),
    async unpauseContainer(name, signal) {
      const response = await send({ method: 'POST', path: `/containers/${name}/unpause` }, signal)
      // Engines answer 409 or 500 for one that is not paused.
      if (isSuccess(response) || response.status === 404 || /not paused/i.test(response.text)) return
      throw refused(response, 'unpause the sandbox')
    },
    inspectContainer: (name, signal) =>
      find({ method: 'GET', path: `/containers/${name}/json` }, 'look at the sandbox', InspectedContainer, signal),
    listContainers: (labels, signal) =>
      ask(
        { method: 'GET', path: '/containers/json', query: { all: 'true', filters: JSON.stringify({ label: labels }) } },
        'list its sandboxes',
        ListedContainers,
        signal,
      ),
    async removeContainer(name, signal) {
      const response = await send({ method: 'DELETE', path: `/containers/${name}`, query: { force: 'true', v: 'true' } }, signal)
      if (response.status === 404 || isSuccess(response)) return 'gone'
      if (response.status === 409) return 'busy'
      throw refused(response, 'remove the sandbox')
    },
    get: (path, schema, signal) => ask({ method: 'GET', path }, `answer ${path}`, schema, signal),
    close: () => transport.close(),
  }
  return client
}

/** The engine's own words in a refusal, or an empty text. */
export function refusalReason(error: unknown): string {
  return error instanceof HoldfastError && typeof error.details['reason'] === 'string' ? error.details['reason'] : ''
}

/** The HTTP status of a refusal, or 0. */
export function refusalStatus(error: unknown): number {
  return error instanceof HoldfastError && typeof error.details['status'] === 'number' ? error.details['status'] : 0
}

function isSuccess(response: EngineResponse): boolean {
  return response.status >= 200 && response.status < 300
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON is one more unknown shape; the schema says so.
    return undefined
  }
}

function compareVersions(left: string, right: string): number {
  const [leftMajor = 0, leftMinor = 0] = left.split('.').map(Number)
  const [rightMajor = 0, rightMinor = 0] = right.split('.').map(Number)
  return leftMajor - rightMajor || leftMinor - rightMinor
}
