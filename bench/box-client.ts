/**
 * A client of the Box door with as little of its own work as Node allows: actions on one WebSocket, and relays of processes.
 */
import { once } from 'node:events'
import { physicalSessionId, placementNamespace } from '@holdfast/protocol/box'
import { WebSocket } from 'ws'
import { awaitedBytes, type Echo } from './reference.ts'
import type { ServerProcess } from './server-process.ts'

const CONTEXT = { instance_uuid: 'bench', workspace_uuid: 'bench', placement_generation: 1 }
const INSTANCE = { 'x-langbot-instance-id': CONTEXT.instance_uuid }
const RELAY = { ...INSTANCE, 'x-langbot-workspace-id': CONTEXT.workspace_uuid, 'x-langbot-placement-generation': '1' }
const MAXIMUM_LINE_BYTES = 1_048_576

export interface BoxClient {
  /** Throws what the server answered, when it is no success. */
  call(action: string, data: object): Promise<object>
  /** One line there, and as many bytes back as are expected. */
  attach(session: string, process: string): Promise<BoxRelay>
  close(): void
}

export interface BoxRelay extends Echo {
  exchange(line: Buffer, expectedBytes: number): Promise<void>
}

interface Answer {
  readonly seq_id: number
  readonly code: number
  readonly message: string
  readonly data: object
}

export async function boxClient({ port }: Pick<ServerProcess, 'port'>): Promise<BoxClient> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/rpc/ws`, { headers: INSTANCE, perMessageDeflate: false })
  const waiting = new Map<number, (answer: Answer) => void>()
  let last = 0
  socket.on('message', (message: Buffer) => {
    const answer: Answer = JSON.parse(message.toString())
    waiting.get(answer.seq_id)?.(answer)
    waiting.delete(answer.seq_id)
  })
  await once(socket, 'open')
  return {
    async call(action, data) {
      const number = (last += 1)
      const answered = new Promise<Answer>((resolve) => waiting.set(number, resolve))
      socket.send(JSON.stringify({ seq_id: number, action, data, context: CONTEXT }))
      const { code, message, data: result } = await answered
      if (code !== 0) throw new Error(`${action} was answered with: ${message}`)
      return result
    },
    async attach(session, process) {
      const { instance_uuid, workspace_uuid, placement_generation } = CONTEXT
      const id = physicalSessionId(placementNamespace(instance_uuid, workspace_uuid, placement_generation), session)
      return openRelay(`ws://127.0.0.1:${port}/v1/sessions/${id}/managed-process/${process}/ws`)
    },
    close: () => socket.terminate(),
  }
}

async function openRelay(url: string): Promise<BoxRelay> {
  const socket = new WebSocket(url, ['mcp'], { headers: RELAY, perMessageDeflate: false, maxPayload: MAXIMUM_LINE_BYTES })
  const answers = awaitedBytes()
  socket.on('message', (message: Buffer) => answers.arrived(message.length))
  await once(socket, 'open')
  const exchange = (line: Buffer, expectedBytes: number) => {
    const answered = answers.expect(expectedBytes)
    socket.send(line, { binary: false })
    return answered
  }
  return {
    exchange,
    // The relay puts the end of the line there, and shows it.
    roundTrip: (message) => exchange(message, message.length + 1),
    async close() {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}
