/** The Box door on a port of its own, with a scripted runtime behind it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostCheck } from '../../../access/listen-address.ts'
import { createLog } from '../../../telemetry/log.ts'
import { listen } from '../../http-listener.ts'
import { openBoxDoor } from '../box-door.ts'
import { createBoxErrors } from '../box-errors.ts'
import type { BoxDoor } from '../box-door.ts'
import type { RelayGate } from '../relay-gate.ts'
import type { BoxRuntime } from '../runtime.ts'
import type { BoxSettings } from '../settings.ts'
import { dialBox } from './box-client.ts'
import type { BoxTestClient } from './box-client.ts'
import { scriptedRuntime } from './scripted-runtime.ts'
import type { ScriptedRuntime } from './scripted-runtime.ts'

export const INSTANCE = 'inst-1'
export const WITH_INSTANCE = { 'x-langbot-instance-id': INSTANCE }
export const CONTEXT = { instance_uuid: INSTANCE, workspace_uuid: 'ws-A', placement_generation: 1 }

export interface BoxLaboratory {
  readonly url: string
  readonly door: BoxDoor
  readonly runtime: ScriptedRuntime
  readonly gate: RelayGate
  readonly directory: string
  readonly logged: string[]
  dial(headers?: Readonly<Record<string, string>>): Promise<BoxTestClient>
  close(): Promise<void>
}

export async function openBoxLaboratory(script: Partial<BoxRuntime> = {}, settings: Partial<BoxSettings> = {}): Promise<BoxLaboratory> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-box-'))
  const runtime = scriptedRuntime(join(directory, 'skills'), script)
  const logged: string[] = []
  const gates: RelayGate[] = []
  const door = await openBoxDoor({
    runtime,
    settings: {
      isEnabled: true,
      token: null,
      instance: null,
      tenant: 'default',
      hostRoot: null,
      ignoresImages: false,
      config: null,
      ...settings,
    },
    errors: createBoxErrors(Date.now),
    relay(gate) {
      gates.push(gate)
      return { serves: () => false, upgrade: () => undefined, close: async () => undefined }
    },
    transfersDirectory: join(directory, 'transfers'),
    privatePaths: [directory],
    checkHost: hostCheck('127.0.0.1'),
    allowedOrigins: new Set(),
    log: createLog({ level: 'debug', format: 'json' }, (line) => void logged.push(line)),
  })
  const listener = await listen(
    () => new Response('', { status: 404 }),
    (request, connection, head) => (door.serves(request.url ?? '/') ? door.upgrade(request, connection, head) : void connection.destroy()),
    '127.0.0.1',
    0,
  )
  const url = `http://127.0.0.1:${listener.port}`
  const clients: BoxTestClient[] = []
  const [gate] = gates
  if (gate === undefined) throw new Error('the door asked for no relay')
  return {
    ...{ url, door, runtime, gate, directory, logged },
    async dial(headers = WITH_INSTANCE) {
      const client = await dialBox(url, headers)
      clients.push(client)
      return client
    },
    async close() {
      for (const client of clients) client.socket.terminate()
      await door.close()
      await listener.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
