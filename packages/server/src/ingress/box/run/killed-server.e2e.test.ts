/** A server that is killed under its clients: the next one has their sessions and processes, and no line is lost. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../../../test/environment/backends.ts'
import { dialBox } from '../contract/box-client.ts'
import type { BoxTestClient } from '../contract/box-client.ts'
import { CONTEXT, dataOf, INSTANCE, relayHeaders, TENANT } from './contract/box-world.ts'
import { openRelay } from './contract/relay-client.ts'

const PROGRAM = join(import.meta.dirname, 'contract', 'box-server-program.ts')

for (const under of await backendsAbovePort()) {
  describe.skipIf(under.skipReason !== null)(`a killed Box server on ${under.kind}${because(under)}`, () => {
    let home: string
    let server: ChildProcess
    let url: string
    let client: BoxTestClient

    const start = async () => {
      const { dockerSocket, image } = under.settings
      const settings = {
        ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: under.kind, HOLDFAST_BOX_ENABLED: 'true' },
        ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: dockerSocket }),
        ...(image === undefined ? {} : { HOLDFAST_IMAGE: image }),
      }
      server = spawn(process.execPath, [PROGRAM], { env: { ...process.env, ...settings }, stdio: ['ignore', 'pipe', 'inherit'] })
      const [address] = server.stdout === null ? [] : await once(server.stdout, 'data')
      url = String(address).trim()
      client = await dialBox(url, { 'x-langbot-instance-id': INSTANCE })
    }
    const kill = async () => {
      server.kill('SIGKILL')
      await once(server, 'exit')
    }
    const call = async (action: string, data: object) => dataOf(await client.ask(action, data, CONTEXT))
    const relay = () => openRelay(`${url}/v1/sessions/${TENANT.placement}-s/managed-process/p/ws`, relayHeaders())

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-boxrun-'))
      await start()
    })
    afterAll(async () => {
      await call('box_shutdown', {})
      client.socket.terminate()
      await kill()
      rmSync(home, { recursive: true, force: true })
    })

    test('the session, the process and its lines are there after the next start', async () => {
      await call('box_exec', { session_id: 's', cmd: 'touch /tmp/here' })
      const count =
        'i=0; echo $$; while [ $i -lt 50000 ]; do echo line $i; i=$((i+1)); done; while read -r word; do echo heard $word by $$; done'
      await call('box_start_managed_process', { session_id: 's', spec: { process_id: 'p', command: 'sh', args: ['-c', count] } })
      const first = await relay()
      await first.reads('line 2000\n')
      await kill()
      await first.closed
      await start()
      expect(await call('box_get_managed_process', { session_id: 's', process_id: 'p' })).toMatchObject({ status: 'running' })
      expect(await call('box_exec', { session_id: 's', cmd: 'ls /tmp' })).toMatchObject({ stdout: 'here' })
      const second = await relay()
      await second.reads('line 49999\n')
      const seen = new Set([...first.messages, ...second.messages])
      const missing = Array.from({ length: 50_000 }, (_, number) => `line ${number}\n`).filter((line) => !seen.has(line))
      expect(missing).toEqual([])
      const pid = first.messages[0]?.trim()
      expect(pid).toMatch(/^\d+$/)
      second.send('again')
      await second.reads(`heard again by ${pid}\n`)
      expect(await call('box_exec', { session_id: 's', cmd: `kill -0 ${pid}` })).toMatchObject({ exit_code: 0 })
      await second.leave()
    })
  })
}
