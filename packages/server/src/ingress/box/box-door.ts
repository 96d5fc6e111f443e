/**
 * The Box door: LangBot's client finds here what its own server offers, over WebSockets and over pipes.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Made from the port `BoxRuntime` and from nothing behind it. Connections share one runtime, one fence and one set of limits; sessions
 * belong to none of them.
 */
import { join } from 'node:path'
import type { IncomingMessage } from 'node:http'
import type { Duplex, Readable, Writable } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol'
import { DEFAULT_BOX_LIMITS, isBoxError } from '@holdfast/protocol/box'
import type { BoxLimits } from '@holdfast/protocol/box'
import type { CheckHost } from '../../access/listen-address.ts'
import type { Work } from '../pipeline/work-budget.ts'
import { randomId } from '../../home/random-id.ts'
import { removeTree } from '../../home/remove-tree.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import { recordingErrors } from './box-errors.ts'
import type { BoxErrors } from './box-errors.ts'
import { createConnection } from './connection.ts'
import { hostActions, initialise, statusActions } from './control-actions.ts'
import { createBoxCredentials } from './credentials.ts'
import { failureMessages } from './failure.ts'
import { createFence } from './fence.ts'
import { createFileTransfer } from './file-transfer.ts'
import { boxHealth } from './health.ts'
import type { BoxHealth } from './health.ts'
import type { BoxSockets, RelayGate } from './relay-gate.ts'
import { relayGate } from './relay-tenant.ts'
import { rpcSockets } from './rpc-socket.ts'
import type { Connect } from './rpc-socket.ts'
import type { BoxRuntime } from './runtime.ts'
import { sessionActions } from './session-actions.ts'
import { checkStdioSettings, initialConfig } from './settings.ts'
import type { BoxSettings } from './settings.ts'
import { skillActions } from './skill-actions.ts'
import { serveStdio } from './stdio-door.ts'
import { callsUnderWay } from './under-way.ts'

export interface BoxDoorNeeds {
  readonly runtime: BoxRuntime
  readonly settings: BoxSettings
  /** Where failures are recorded. */
  readonly errors: BoxErrors
  /** Makes the sockets of the relay, which ask the gate who is there. */
  readonly relay: (gate: RelayGate) => BoxSockets
  /** A directory of the server's own, for files on their way; what an earlier server left there is removed. */
  readonly transfersDirectory: string
  /** Directories that no message names. */
  readonly privatePaths: readonly string[]
  /** Of work in flight, for the tenant of everything that Box clients do. */
  readonly beginWork?: (caller: string) => Work
  readonly checkHost: CheckHost
  readonly allowedOrigins: ReadonlySet<string>
  readonly log: Log
}

export interface BoxDoor {
  /** Whether a request for a WebSocket at this address, as the request has it, is for this door. */
  serves(url: string): boolean
  upgrade(request: IncomingMessage, connection: Duplex, head: Buffer): void
  readonly health: BoxHealth
  /** One client on a pair of pipes, until it leaves. Throws `config_invalid` when it is not known who that is. */
  serveStdio(input: Readable, output: Writable): Promise<void>
  /** Takes no more, tells everybody that the server goes away, and cancels what they have under way. */
  close(): Promise<void>
}

export async function openBoxDoor(needs: BoxDoorNeeds): Promise<BoxDoor> {
  const { runtime, settings, errors, relay, transfersDirectory, privatePaths, beginWork, checkHost, allowedOrigins, log } = needs
  await removeTree(transfersDirectory)
  let limits: BoxLimits = DEFAULT_BOX_LIMITS
  const setLimits = (changed: BoxLimits) => void (limits = changed)
  const { counted, underWay } = callsUnderWay()
  const failureMessage = failureMessages({ privatePaths, log })
  const tenantActions = { ...statusActions({ runtime }), ...sessionActions(runtime), ...skillActions(runtime) }
  const shared = {
    hostActions: hostActions({ runtime, setLimits }),
    tenantActions: counted(recordingErrors(tenantActions, errors, failureMessage)),
    fence: createFence({ runtime, maxRecords: () => limits.max_admission_records, log }),
    failureMessage,
  }
  const credentials = createBoxCredentials({ token: settings.token, instance: settings.instance, checkHost, allowedOrigins, log })
  const connect: Connect = (peer, carrier) => {
    const caller = randomId('box')
    return createConnection({
      ...{ ...shared, ...carrier, peer },
      ...(beginWork === undefined ? {} : { begin: () => beginWork(caller) }),
      files: createFileTransfer({ directory: join(transfersDirectory, randomId('box')), maxFileBytes: limits.max_rpc_file_bytes }),
    })
  }
  const sockets = [rpcSockets({ credentials, connect }), relay(relayGate(credentials, shared.fence))]
  const closing = new AbortController()
  const pipes = new Set<Promise<void>>()
  const health = boxHealth({ runtime, underWay })
  await begin(async (data) => initialise({ runtime, setLimits }, data), settings, log)

  return {
    serves: (url) => sockets.some((kind) => kind.serves(pathOf(url))),
    upgrade(request, connection, head) {
      const path = pathOf(request.url ?? '/')
      sockets.find((kind) => kind.serves(path))?.upgrade(request, connection, head)
    },
    health,
    async serveStdio(input, output) {
      checkStdioSettings(settings)
      const serving = serveStdio({ connect, peer: { instance: settings.instance }, input, output, closing: closing.signal, log })
      pipes.add(serving)
      await serving.finally(() => pipes.delete(serving))
    },
    async close() {
      health.close()
      closing.abort()
      await Promise.all([...pipes, ...sockets.map(async (kind) => kind.close())])
    },
  }
}

/** The section that the operator gave for the start. A wrong one is told, and what it says is left out. */
async function begin(init: (data: Readonly<Record<string, unknown>>) => Promise<void>, settings: BoxSettings, log: Log): Promise<void> {
  if (settings.config === null) return
  const data = initialConfig(settings)
  if (data === null) return log.warn('box-config-ignored', { problem: 'it is no JSON object' })
  try {
    await init(data)
  } catch (error) {
    // A client that asks for grants does not want a server that runs everything without them.
    if (isBoxError(error, 'BoxReadinessError'))
      throw new HoldfastError('config_invalid', `box.config: ${error.message}`, {}, { cause: error })
    // Decision: the client sends its own when it comes, so a wrong one is no reason not to start.
    log.warn('box-config-ignored', { problem: errorText(error) })
  }
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '/'
}
