/** A server that is killed: its processes run on, are started again by their rules, and their clients come back without a lost byte. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExecResult, ProcessDetails } from '@holdfast/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { eventually, untilHolds } from '../../../../../test/servers/eventually.ts'
import { openProcess } from './contract/process-client.ts'
import type { ProcessClient } from './contract/process-client.ts'

const PROGRAM = join(import.meta.dirname, 'contract', 'server-program.ts')

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`a killed server on ${under.kind}${because(under)}`, () => {
    let home: string
    let server: ChildProcess
    let url: string
    let key: string
    let session: string
    const clients: ProcessClient[] = []

    const begin = async () => {
      const settings = { HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: under.kind }
      server = spawn(process.execPath, [PROGRAM], { env: { ...process.env, ...settings }, stdio: ['ignore', 'pipe', 'inherit'] })
      const [address] = server.stdout === null ? [] : await once(server.stdout, 'data')
      url = String(address).trim()
      key = readFileSync(join(home, 'admin.key'), 'utf8').trim()
    }
    const kill = async () => {
      server.kill('SIGKILL')
      await once(server, 'exit')
    }
    const request = (path: string, method = 'GET', body?: object) =>
      fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const exec = async (command: string) => ExecResult.parse(await (await request('/v1/exec', 'POST', { session: 'a', command })).json())
    const start = async (name: string, command: string, restart?: object) => {
      const wish = { name, command, interactive: true, ...(restart === undefined ? {} : { restart }) }
      return ProcessDetails.parse(await (await request(`/v1/sessions/${session}/processes`, 'POST', wish)).json())
    }
    const look = async (name: string) => ProcessDetails.parse(await (await request(`/v1/sessions/${session}/processes/${name}`)).json())
    const attach = async (name: string, query: Record<string, string> = {}) => {
      const address = `${url}/v1/sessions/${session}/processes/${name}/attach?${new URLSearchParams(query).toString()}`
      const client = await openProcess(address, key)
      clients.push(client)
      return client
    }

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-killed-'))
      await begin()
      session = (await exec('true')).session.id
    })
    afterEach(() => {
      for (const client of clients.splice(0)) client.vanish()
    })
    afterAll(async () => {
      await request(`/v1/sessions/${session}/cancel`, 'POST', {})
      const state = async () => ((await (await request(`/v1/sessions/${session}`)).json()) as { readonly state: string }).state
      await untilHolds(async () => expect(await state()).toBe('cancelled'))
      await kill()
      rmSync(home, { recursive: true, force: true })
    })

    test('the same process answers the next one, and what its client missed comes byte for byte', async () => {
      const script =
        'echo $$; i=0; while read -r line; do j=0; while [ $j -lt 300 ]; do echo "$i $line"; i=$((i+1)); j=$((j+1)); done; done'
      const { execution_id: execution } = await start('counter', script)
      const first = await attach('counter')
      first.write('a')
      first.write('b')
      await first.reads('350 b\n')
      await kill()
      await first.closed()
      await begin()
      const second = await attach('counter', { execution, after: String(first.place()) })
      second.write('c')
      await second.reads('899 c\n')
      const [pid, ...lines] = Buffer.concat([first.bytes(), second.bytes()]).toString().trim().split('\n')
      expect(lines).toEqual(Array.from({ length: 900 }, (_, number) => `${number} ${'abc'[Math.floor(number / 300)]}`))
      expect((await exec(`kill -0 ${pid}`)).exit_code).toBe(0)
      expect(await look('counter')).toMatchObject({ execution_id: execution, status: 'running', restarts: 0 })
      await request(`/v1/sessions/${session}/processes/counter?grace_ms=0`, 'DELETE')
    })

    test('what dies while nobody is there is started again by the next one, and counted once', async () => {
      const script = 'until [ -e die ]; do sleep 0.05; done; mv die dead; exit 1'
      const { execution_id: before } = await start('phoenix', script, { policy: 'on-failure', backoff_ms: 100 })
      await kill()
      const files = join(home, 'workspaces', session, 'files')
      writeFileSync(join(files, 'die'), '')
      await expect.poll(() => existsSync(join(files, 'dead'))).toBe(true)
      await begin()
      await eventually(async () => (await look('phoenix')).restarts).toBe(1)
      const after = await look('phoenix')
      expect(after).toMatchObject({ status: 'running', restart: { policy: 'on-failure' } })
      expect(after.execution_id).not.toBe(before)
      const again = await attach('phoenix')
      await exec('touch die')
      expect(await again.message('exit')).toMatchObject({ exit_code: 1 })
      await eventually(async () => (await look('phoenix')).restarts).toBe(2)
      await request(`/v1/sessions/${session}/processes/phoenix?grace_ms=0`, 'DELETE')
    })

    test('what waits for its next start is started by the next one; what was stopped is not', async () => {
      await start('waiting', 'exit 1', { policy: 'always', backoff_ms: 2_000 })
      await start('stopped', 'exit 1', { policy: 'always', backoff_ms: 2_000 })
      await eventually(async () => (await look('waiting')).next_start_at).not.toBeNull()
      await eventually(async () => (await look('stopped')).next_start_at).not.toBeNull()
      const { next_start_at: next } = await look('waiting')
      await request(`/v1/sessions/${session}/processes/stopped`, 'DELETE')
      await kill()
      await begin()
      const found = await look('waiting')
      expect(found.next_start_at === next || found.restarts === 1).toBe(true)
      await eventually(async () => (await look('waiting')).restarts).toBeGreaterThanOrEqual(1)
      expect(await look('stopped')).toMatchObject({ restarts: 0, next_start_at: null })
      await request(`/v1/sessions/${session}/processes/waiting?grace_ms=0`, 'DELETE')
    })
  })
}
