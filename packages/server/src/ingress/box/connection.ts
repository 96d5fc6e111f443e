/**
 * One client at the Box door, whatever carries its messages: requests run side by side, answers come in any order.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * At most 128 requests at a time, more are told that the connection is busy. What a client that leaves has under way is cancelled. What
 * it sends is read only as fast as it gets done, so what waits is bounded.
 */
import { fieldProblems, isHoldfastError, problemSentence } from '@holdfast/protocol'
import {
  BoxError,
  BoxRequest,
  frameText,
  isBoxAction,
  MAXIMUM_IN_FLIGHT,
  MAXIMUM_MESSAGE_BYTES,
  parseFrame,
  sequenceOf,
} from '@holdfast/protocol/box'
import type { SequenceId } from '@holdfast/protocol/box'
import { scanInTurns } from '../../mcp/share/json-scan.ts'
import type { JsonScan } from '../../mcp/share/json-scan.ts'
import { LARGE_MEMBERS, largeObject } from '../../mcp/share/large-json.ts'
import { parsedWeight } from '../pipeline/work-budget.ts'
import type { Work } from '../pipeline/work-budget.ts'
import type { Call, HostActions, TenantActions } from './action.ts'
import type { BoxPeer } from './credentials.ts'
import type { FailureMessage } from './failure.ts'
import type { Fence } from './fence.ts'
import type { FileTransfer } from './file-transfer.ts'
import { tenantFor } from './request-tenant.ts'
import type { BoxTenant } from './tenant.ts'

/** Above this nothing more is read until half of it is done. */
const MAXIMUM_WAITING_BYTES = 2 * MAXIMUM_MESSAGE_BYTES
/** A message costs memory beyond its bytes, and its answer too. */
const MESSAGE_BYTES = 2048
/** A shorter message is parsed without a scan. */
const LIGHT_CHARACTERS = 16_384
/** The schema of an envelope looks at each member of `data`. */
const MAXIMUM_SHALLOW = 10_000
/** A client that cannot cancel what fills its connection would have to drop it. */
const KEPT_FOR_CANCELLATIONS = 4
const BUSY = `the connection is busy: ${MAXIMUM_IN_FLIGHT} actions are under way`

export interface ConnectionNeeds {
  readonly peer: BoxPeer
  readonly hostActions: HostActions
  readonly tenantActions: TenantActions
  readonly fence: Fence
  readonly files: FileTransfer
  readonly failureMessage: FailureMessage
  /** Counts each message in the budget for work in flight. */
  readonly begin?: () => Work
  /** Resolves when the message is on its way. Must not reject. */
  readonly send: (text: string) => Promise<void>
  /** Whether to read on. */
  readonly onPressure: (isHigh: boolean) => void
}

export interface Connection {
  receive(message: string): void
  readonly inFlight: number
  /** Cancels what is under way and waits for it. Nothing is sent any more. */
  close(): Promise<void>
}

type Data = Readonly<Record<string, unknown>>

interface InFlight {
  readonly id: SequenceId
  /** Whose it is, as soon as that is known; an action of the host is nobody's, and cannot be cancelled. */
  placement: string | null
  done: Promise<void>
}

/** The client cancelled the action, and waits for no answer. */
class CancelledByClient extends Error {}

export function createConnection(needs: ConnectionNeeds): Connection {
  const { peer, hostActions, tenantActions, fence, files, failureMessage, begin, send, onPressure } = needs
  const inFlight = new Map<AbortController, InFlight>()
  /** Messages that wait for the scan of an earlier one: their order stays. */
  let scanning = Promise.resolve()
  let scanned = 0
  let waitingBytes = 0
  let isHigh = false
  let isClosed = false

  function press(bytes: number): void {
    waitingBytes += bytes
    const isNowHigh = waitingBytes > (isHigh ? MAXIMUM_WAITING_BYTES / 2 : MAXIMUM_WAITING_BYTES)
    if (isNowHigh === isHigh) return
    isHigh = isNowHigh
    onPressure(isHigh)
  }

  async function reply(id: SequenceId, code: 0 | 1, message: string, data: Data): Promise<void> {
    if (isClosed) return
    const text = frameText({ seq_id: id, code, message, data, chunk_status: 'continue' })
    if (text.length <= MAXIMUM_MESSAGE_BYTES / 3 || Buffer.byteLength(text) <= MAXIMUM_MESSAGE_BYTES) return send(text)
    return reply(id, 1, failureMessage(new BoxError('BoxError', `the answer is larger than ${MAXIMUM_MESSAGE_BYTES} bytes`), ''), {})
  }

  async function perform(frame: Data, controller: AbortController): Promise<Data> {
    const parsed = BoxRequest.safeParse(frame)
    if (!parsed.success) throw new BoxError('ValidationError', problemSentence(fieldProblems(parsed.error)))
    const { action, data, context } = parsed.data
    if (!isBoxAction(action)) throw new BoxError('ValueError', `${JSON.stringify(action.slice(0, 80))} is not an action`)
    const call: Call = { data, signal: controller.signal, files }
    const tenant = tenantFor(action, context ?? null, peer, fence)
    const host = hostActions[action]
    if (host !== undefined) return host(call)
    if (action === '__cancel_action' && tenant !== null) return cancel(tenant, data['seq_id'])
    const own = inFlight.get(controller)
    if (own !== undefined && tenant !== null) own.placement = tenant.placement
    const run = tenantActions[action]
    if (run === undefined || tenant === null) throw new BoxError('PermissionError', 'this action needs a context')
    return fence.run(tenant, controller, async () => run(tenant, call))
  }

  /** Only what the same workspace sent on this connection. */
  function cancel({ placement }: BoxTenant, id: unknown): Data {
    const found = [...inFlight].find(([, each]) => each.id === id && each.placement === placement)
    found?.[0].abort(new CancelledByClient())
    return { cancelled: found !== undefined }
  }

  async function answer(frame: Data, controller: AbortController): Promise<void> {
    const id = sequenceOf(frame)
    try {
      const data = await perform(frame, controller)
      if (!(controller.signal.reason instanceof CancelledByClient)) await reply(id, 0, 'success', data)
    } catch (error) {
      const reason: unknown = controller.signal.aborted ? controller.signal.reason : error
      if (reason instanceof CancelledByClient) return
      const action = typeof frame['action'] === 'string' && isBoxAction(frame['action']) ? frame['action'] : ''
      if (!isClosed) await reply(id, 1, failureMessage(reason, action), {})
    }
  }

  /** What a message weighs is reserved before it is parsed. Resolves when it is answered. */
  async function take(message: string, scan: JsonScan | null): Promise<void> {
    const isHeavy = isTooHeavy(scan)
    const frame = isHeavy && scan !== null ? largeObject(Buffer.from(message), scan) : parseFrame(message)
    // A response answers nothing that was asked, and what is neither is nothing.
    if (isClosed || frame === null || Object.hasOwn(frame, 'code') || !Object.hasOwn(frame, 'action')) return
    if (isHeavy) {
      const error = new BoxError('BoxValidationError', `the message has ${scan?.members} members: at most ${LARGE_MEMBERS}`)
      return reply(sequenceOf(frame), 1, failureMessage(error, ''), {})
    }
    const most = MAXIMUM_IN_FLIGHT + (frame['action'] === '__cancel_action' ? KEPT_FOR_CANCELLATIONS : 0)
    if (inFlight.size >= most) return reply(sequenceOf(frame), 1, BUSY, {})
    const controller = new AbortController()
    const request: InFlight = { id: sequenceOf(frame), placement: null, done: Promise.resolve() }
    inFlight.set(controller, request)
    request.done = answer(frame, controller).finally(() => inFlight.delete(controller))
    await request.done
  }

  async function reserved(message: string, scan: JsonScan | null): Promise<void> {
    const work = begin?.()
    try {
      work?.reserve(parsedWeight(message.length, isTooHeavy(scan) ? 0 : (scan?.members ?? 0)))
      await take(message, scan)
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      const frame =
        message.length <= LIGHT_CHARACTERS ? parseFrame(message) : scan === null ? null : largeObject(Buffer.from(message), scan)
      if (frame !== null) await reply(sequenceOf(frame), 1, failureMessage(error, ''), {})
    } finally {
      work?.end()
    }
  }

  return {
    receive(message) {
      if (isClosed) return
      const bytes = message.length + MESSAGE_BYTES
      press(bytes)
      const settled = () => press(-bytes)
      if (message.length <= LIGHT_CHARACTERS && scanned === 0) return void reserved(message, null).finally(settled)
      scanned += 1
      scanning = scanning.then(async () => {
        const scan = message.length <= LIGHT_CHARACTERS ? null : await scanInTurns(Buffer.from(message))
        scanned -= 1
        void reserved(message, scan).finally(settled)
      })
    },
    get inFlight() {
      return inFlight.size
    },
    async close() {
      isClosed = true
      for (const controller of inFlight.keys()) controller.abort(new BoxError('BoxRuntimeUnavailableError', 'the client has left'))
      await Promise.all([...inFlight.values()].map(({ done }) => done))
      await files.close()
    },
  }
}

function isTooHeavy(scan: JsonScan | null): boolean {
  return scan !== null && (scan.members > LARGE_MEMBERS || scan.shallowMembers > MAXIMUM_SHALLOW)
}
