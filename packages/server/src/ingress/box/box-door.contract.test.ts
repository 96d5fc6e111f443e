/** The Box door of a whole server, over real sandboxes: what is done here is ordinary, and outlives connections and servers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { startServer } from '../../app.ts'
import type { RunningServer } from '../../app.ts'
import { loadConfig } from '../../config.ts'
import { jsonLog } from '../../telemetry/log.ts'
import { boxRefusal, dialBox } from './contract/box-client.ts'
import type { BoxTestClient } from './contract/box-client.ts'

const COVERED = ['bubblewrap', 'docker']
const subjects = (await backendsUnderTest()).filter(({ kind }) => COVERED.includes(kind))
const TOKEN = 't'.repeat(48)
const HEADERS = { 'x-langbot-instance-id': 'inst-1', 'x-langbot-box-control-token': TOKEN }
const CONTEXT = { instance_uuid: 'inst-1', workspace_uuid: 'ws-A', placement_generation: 1 }
const SLEEPERS = 'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f; echo; done 2>/dev/null | grep -c "^sleep 54321" || true'

for (const subject of subjects) {
  describe.skipIf(subject.skipReason !== null)(`the Box door on ${subject.kind}${because(subject)}`, () => {
    let home: string
    const key = 'hf_box_contract_test_key'
    let server: RunningServer
    let client: BoxTestClient
    let port = '0'

    const start = async () =>
      startServer(
        loadConfig(
          {},
          {
            ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: port, HOLDFAST_BACKEND: subject.kind, HOLDFAST_API_KEY: key },
            ...{ HOLDFAST_DOCKER_HOST: subject.settings.dockerSocket, HOLDFAST_IMAGE: subject.settings.image },
            ...{ HOLDFAST_BOX_ENABLED: 'true', LANGBOT_BOX_CONTROL_TOKEN: TOKEN },
          },
        ),
        jsonLog('error'),
      )
    const rest = async (path: string) => (await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${key}` } })).json()
    const ask = async (action: string, data: object = {}, context: object = CONTEXT) => client.ask(action, data, context)
    const exec = async (cmd: string, more: object = {}) => (await ask('box_exec', { session_id: 'grp/1', cmd, ...more }))['data']

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-box-'))
      server = await start()
      port = new URL(server.url).port
      client = await dialBox(server.url, HEADERS)
    })
    afterAll(async () => {
      await client.ask('box_shutdown')
      client.socket.terminate()
      await server.close()
      rmSync(home, { recursive: true, force: true })
    })

    test('lets nobody in without the token, and tells its health to everybody', async () => {
      expect(await boxRefusal(server.url, { 'x-langbot-instance-id': 'inst-1' })).toMatchObject({ status: 401, body: 'Unauthorized' })
      expect(await (await fetch(`${server.url}/healthz`)).json()).toMatchObject({
        live: true,
        resources: { event_loop: { running: true } },
      })
      const ready = await fetch(`${server.url}/readyz`)
      expect([ready.status, await ready.json()]).toMatchObject([200, { ready: true, backend: { name: subject.kind, available: true } }])
    })

    test('a command runs, and its session is one that REST shows too', async () => {
      expect(await exec('echo hello > note; cat note; pwd; exit 3')).toMatchObject({
        ...{ session_id: 'grp-1', backend_name: subject.kind, status: 'completed', exit_code: 3, stdout: 'hello\n/workspace' },
      })
      expect(JSON.stringify(await rest('/v1/sessions'))).toContain('langbot:ws-2db0470dd734a3cfd13ed6b1')
    })

    test('other doors are as they were', async () => {
      expect(await boxRefusal(server.url, {}, '/v1/sessions/ses_0000000000000000/terminal')).toMatchObject({
        status: 401,
        type: 'application/problem+json',
      })
    })

    test('a dropped call is cancelled inside', async () => {
      const other = await dialBox(server.url, HEADERS)
      void other.ask('box_exec', { session_id: 'grp/1', cmd: 'touch began; exec sleep 54321', timeout_sec: 300 }, CONTEXT)
      await expect.poll(async () => exec('ls')).toMatchObject({ stdout: expect.stringContaining('began') as string })
      expect(await exec(SLEEPERS)).toMatchObject({ stdout: '1' })
      await other.leave()
      await expect.poll(async () => exec(SLEEPERS)).toMatchObject({ stdout: '0' })
    })

    test('sessions and processes outlive the connection and the server', async () => {
      const spec = { process_id: 'p1', command: 'sleep', args: ['54321'] }
      expect(await ask('box_start_managed_process', { session_id: 'grp/1', spec })).toMatchObject({ data: { status: 'running' } })
      await client.leave()
      await server.close()
      server = await start()
      client = await dialBox(server.url, HEADERS)
      expect(await ask('box_get_managed_process', { session_id: 'grp/1', process_id: 'p1' })).toMatchObject({
        data: { status: 'running', exited_at: null },
      })
      expect(await exec(`cat note; ${SLEEPERS}`)).toMatchObject({ stdout: 'hello\n1' })
    })

    test('a newer generation ends what the older one left, also over a restart', async () => {
      expect(await ask('box_get_sessions', {}, { ...CONTEXT, placement_generation: 2 })).toMatchObject({ data: { sessions: [] } })
      expect(await ask('box_get_sessions')).toMatchObject({ code: 1, message: expect.stringMatching(/^PermissionError: /) as string })
      expect(JSON.stringify(await rest('/v1/sessions?state=idle&state=active'))).not.toContain('langbot:')
    })
  })
}
