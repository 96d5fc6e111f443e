/**
 * One client at the Box door, whatever carries its messages: requests run side by side, answers come in any order.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * At most 128 requests at a time, more are told that the connection is busy. What a client that leaves has under way is cancelled. What
 * it sends is read only as fast as it gets done, so what waits is bounded.
 */
import { fieldProblems, problemSentence } from '@holdfast/protocol'
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
import type { Call, HostActions, TenantActions } from './action.ts'
import type { BoxPeer } from './credentials.ts'
import type { FailureMessage } from './failure.ts'
import type { Fence } from './fence.ts'
import type { FileTransfer } from './file-transfer.ts'
import { tenantFor } from './request-tenant.ts'

/** Above this nothing more is read until half of it is done. */
const MAXIMUM_WAITING_BYTES = 2 * MAXIMUM_MESSAGE_BYTES
/** A message costs memory beyond its bytes, and its answer too. */
const MESSAGE_BYTES = 2048
const BUSY = `the connection is busy: ${MAXIMUM_IN_FLIGHT} actions are under way`

export interface ConnectionNeeds {
  readonly peer: BoxPeer
  readonly hostActions: HostActions
  readonly tenantActions: TenantActions
  readonly fence: Fence
  readonly files: FileTransfer
  readonly failureMessage: FailureMessage
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

export function createConnection(needs: ConnectionNeeds): Connection {
  const { peer, hostActions, tenantActions, fence, files, failureMessage, send, onPressure } = needs
  const inFlight = new Map<AbortController, Promise<void>>()
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
    const run = tenantActions[action]
    if (run === undefined || tenant === null) throw new BoxError('PermissionError', 'this action needs a context')
    return fence.run(tenant, controller, async () => run(tenant, call))
  }

  async function answer(frame: Data, controller: AbortController): Promise<void> {
    const id = sequenceOf(frame)
    try {
      const data = await perform(frame, controller)
      await reply(id, 0, 'success', data)
    } catch (error) {
      const reason: unknown = controller.signal.aborted ? controller.signal.reason : error
      const action = typeof frame['action'] === 'string' && isBoxAction(frame['action']) ? frame['action'] : ''
      if (!isClosed) await reply(id, 1, failureMessage(reason, action), {})
    }
  }

  return {
    receive(message) {
      if (isClosed) return
      const frame = parseFrame(message)
      // A response answers nothing that was asked, and what is neither is nothing.
      if (frame === null || Object.hasOwn(frame, 'code') || !Object.hasOwn(frame, 'action')) return
      const bytes = message.length + MESSAGE_BYTES
      press(bytes)
      if (inFlight.size >= MAXIMUM_IN_FLIGHT) return void reply(sequenceOf(frame), 1, BUSY, {}).then(() => press(-bytes))
      const controller = new AbortController()
      const done = answer(frame, controller).finally(() => {
        inFlight.delete(controller)
        press(-bytes)
      })
      inFlight.set(controller, done)
    },
    get inFlight() {
      return inFlight.size
    },
    async close() {
      isClosed = true
      for (const controller of inFlight.keys()) controller.abort(new BoxError('BoxRuntimeUnavailableError', 'the client has left'))
      await Promise.all(inFlight.values())
      await files.close()
    },
  }
}
