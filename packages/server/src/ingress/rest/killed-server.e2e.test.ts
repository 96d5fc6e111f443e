/** A server that is killed while callers wait for their commands: who comes back has the real end, and the rest is cancelled. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExecResult, ExecutionView } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { because } from '../../../../../test/environment/backends.ts'
import { eventually, untilHolds } from '../../../../../test/servers/eventually.ts'
import { bubblewrapUnderTest } from './contract/real-server.ts'

const PROGRAM = join(import.meta.dirname, '..', 'sockets', 'contract', 'server-program.ts')
const under = await bubblewrapUnderTest()

describe.skipIf(under.skipReason !== null)(`a server killed under its callers${because(under)}`, () => {
  let home: string
  let server: ChildProcess
  let url: string
  let key: string
  let session: string

  const begin = async (graceSeconds: number) => {
    const settings = {
      ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: under.kind },
      HOLDFAST_SESSIONS_TERMINAL_GRACE_SECONDS: String(graceSeconds),
    }
    server = spawn(process.execPath, [PROGRAM], { env: { ...process.env, ...settings }, stdio: ['ignore', 'pipe', 'inherit'] })
    const [address] = server.stdout === null ? [] : await once(server.stdout, 'data')
    url = String(address).trim()
    key = readFileSync(join(home, 'admin.key'), 'utf8').trim()
  }
  const kill = async () => {
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
  const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${url}${path}`, { method: 'POST', headers: { authorization: `Bearer ${key}`, ...headers }, body: JSON.stringify(body) })
  const exec = async (command: string, headers?: Readonly<Record<string, string>>) =>
    ExecResult.parse(await (await post('/v1/exec', { session: 'a', command, timeout_ms: 300_000 }, headers)).json())
  const isThere = async (file: string) => (await exec(`test -e ${file}`)).exit_code === 0

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'holdfast-killed-'))
    await begin(600)
    session = (await exec('true')).session.id
  })
  afterAll(async () => {
    await post(`/v1/sessions/${session}/cancel`, {})
    const state = async () =>
      ((await (await fetch(`${url}/v1/sessions/${session}`, { headers: { authorization: `Bearer ${key}` } })).json()) as { state: string })
        .state
    await untilHolds(async () => expect(await state()).toBe('cancelled'))
    await kill()
    rmSync(home, { recursive: true, force: true })
  })

  test('gives the real end to the caller who sends the same Idempotency-Key again, and runs the command once', async () => {
    const headers = { 'idempotency-key': 'once' }
    const command = 'echo run >> runs; touch begun; while [ ! -e go ]; do sleep 0.05; done; echo done; exit 5'
    const lost = exec(command, headers).catch(() => null)
    await eventually(() => isThere('begun')).toBe(true)
    await kill()
    expect(await lost).toBeNull()
    await begin(600)
    const again = exec(command, headers)
    await exec('touch go')
    expect(await again).toMatchObject({ status: 'completed', exit_code: 5, stdout: 'done\n' })
    expect((await exec('cat runs')).stdout).toBe('run\n')
    expect(await exec(command, headers)).toEqual(await again)
  })

  test('cancels the command of a caller who does not come back', async () => {
    const lost = exec('touch alone; exec sleep 300').catch(() => null)
    await eventually(() => isThere('alone')).toBe(true)
    await kill()
    await lost
    await begin(1)
    const statuses = async () => {
      const answer = await fetch(`${url}/v1/sessions/${session}/executions`, { headers: { authorization: `Bearer ${key}` } })
      const { items } = (await answer.json()) as { readonly items: readonly unknown[] }
      return items.map((item) => ExecutionView.parse(item).status)
    }
    await eventually(async () => (await statuses()).filter((status) => status === 'running' || status === 'cancelled')).toEqual([
      'cancelled',
    ])
  })
})
