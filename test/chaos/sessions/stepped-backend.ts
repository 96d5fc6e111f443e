/**
 * A real backend that tells its calls, and what is sent to guests, as steps.
 */
import type { Duplex } from 'node:stream'
import { FrameType, frameName } from '../../../packages/server/src/guest/codec.ts'
import type { Sandbox, SandboxBackend } from '../../../packages/server/src/sandboxes/backend.ts'
import type { Steps } from './steps.ts'

/** Frames that change something inside; the others come whenever they come. */
const ORDERS: readonly number[] = [FrameType.EXEC, FrameType.EOF, FrameType.SIGNAL, FrameType.KILL, FrameType.FORGET, FrameType.SHUTDOWN]

export function steppedBackend(backend: SandboxBackend, steps: Steps): SandboxBackend {
  const stepped = (sandbox: Sandbox): Sandbox => ({
    name: sandbox.name,
    kind: sandbox.kind,
    dial: async (signal) => telling(await sandbox.dial(signal), steps),
  })
  return {
    ...backend,
    async create(...given) {
      const sandbox = await backend.create(...given)
      steps.tell('after create')
      return stepped(sandbox)
    },
    attach: async (...given) => stepped(await backend.attach(...given)),
    async destroy(name) {
      await backend.destroy(name)
      steps.tell('after destroy')
    },
  }
}

function telling(connection: Duplex, steps: Steps): Duplex {
  const write = connection.write.bind(connection) as (...given: readonly unknown[]) => boolean
  Object.assign(connection, {
    write(...given: readonly unknown[]) {
      const isTaken = write(...given)
      const [bytes] = given
      const type = Buffer.isBuffer(bytes) && bytes.length > 4 ? bytes.readUInt8(4) : 0
      if (ORDERS.includes(type)) steps.tell(`after sending ${frameName(type)}`)
      return isTaken
    },
  })
  return connection
}
