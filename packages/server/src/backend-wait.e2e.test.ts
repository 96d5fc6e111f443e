/** `box.enabled` and a backend that is missing at the start: Box clients get that answer, and are served once it is there. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../test/environment/backends.ts'
import { eventually } from '../../../test/servers/eventually.ts'
import { startServer } from './app.ts'
import type { RunningServer } from './app.ts'
import { loadConfig } from './config.ts'
import { dialBox } from './ingress/box/contract/box-client.ts'
import { createLog } from './telemetry/log.ts'

const CONTEXT = { instance_uuid: 'inst-1', workspace_uuid: 'ws-A', placement_generation: 1 }
const HEADERS = { 'x-langbot-instance-id': 'inst-1' }
const PORT = 5519

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'docker')) {
  describe.skipIf(under.skipReason !== null)(`a server whose Docker is not there at first${because(under)}`, () => {
    let directory: string
    let starting: Promise<RunningServer>
    const logged: string[] = []
    beforeAll(() => {
      directory = mkdtempSync(join(tmpdir(), 'holdfast-wait-'))
      const environment = {
        ...{
          HOLDFAST_HOME: join(directory, 'home'),
          HOLDFAST_PORT: String(PORT),
          HOLDFAST_BACKEND: 'docker',
          HOLDFAST_BOX_ENABLED: 'true',
        },
        ...{ HOLDFAST_DOCKER_HOST: join(directory, 'docker.sock'), HOLDFAST_IMAGE: under.settings.image },
      }
      starting = startServer(
        loadConfig({}, environment),
        createLog({ level: 'warn', format: 'json' }, (line) => logged.push(line)),
      )
    })
    afterAll(async () => {
      const server = await starting
      const { backend } = server.chosen
      await server.close()
      for (const { name } of await backend.list()) await backend.destroy(name)
      rmSync(directory, { recursive: true, force: true })
    })

    test('says that it is missing, by name, and runs what comes after it is there', async () => {
      await eventually(async () => logged.join('').includes('backend-awaited')).toBe(true)
      const url = `http://127.0.0.1:${PORT}`
      await eventually(async () => (await fetch(`${url}/readyz`)).status).toBe(503)
      const early = await dialBox(url, HEADERS)
      expect(await early.ask('box_get_backend_info')).toMatchObject({
        data: { name: 'docker', available: false, reason: expect.stringContaining('docker') as string },
      })
      expect(await early.ask('box_status', {}, CONTEXT)).toMatchObject({ data: { backend: { available: false }, active_sessions: 0 } })
      expect(await early.ask('box_exec', { session_id: 's', cmd: 'true' }, CONTEXT)).toMatchObject({
        message: expect.stringMatching(/^BoxBackendUnavailableError: /) as string,
      })
      symlinkSync(under.settings.dockerSocket ?? '', join(directory, 'docker.sock'))
      await early.closed
      const server = await starting
      expect(server.url).toBe(url)
      const client = await dialBox(url, HEADERS)
      expect(await client.ask('box_exec', { session_id: 's', cmd: 'echo ran' }, CONTEXT)).toMatchObject({ data: { stdout: 'ran' } })
      await client.leave()
    })
  })
}
