/** While the backend is missing, Box clients connect and get that answer. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { afterAll, expect, test } from 'vitest'
import { hostCheck } from '../../access/listen-address.ts'
import { createLog } from '../../telemetry/log.ts'
import { listen } from '../http-listener.ts'
import { awaitBackend } from './backend-wait.ts'
import { CONTEXT, WITH_INSTANCE } from './contract/box-laboratory.ts'
import { dialBox } from './contract/box-client.ts'

const directory = mkdtempSync(join(tmpdir(), 'holdfast-wait-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

async function freePort(): Promise<number> {
  const { port, close } = await listen(
    () => new Response(''),
    (_request, connection) => void connection.destroy(),
    '127.0.0.1',
    0,
  )
  await close()
  return port
}

const needsOf = (choose: () => Promise<string>, port: number) => ({
  ...{ choose, port, host: '127.0.0.1', backendName: 'docker', checkHost: hostCheck('127.0.0.1'), retryMs: 20 },
  settings: { isEnabled: true, token: null, instance: null, tenant: 'default', hostRoot: null, ignoresImages: false, config: null },
  transfersDirectory: join(directory, 'transfers'),
  log: createLog({ level: 'error', format: 'json' }, () => undefined),
})

test('clients see which backend is missing and why, until it is there; then the address is free for the server', async () => {
  let isThere = false
  const choose = async () => {
    if (!isThere) throw new HoldfastError('backend_unavailable', 'the backend docker is not available')
    return 'chosen'
  }
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const waiting = awaitBackend(needsOf(choose, port))
  await expect
    .poll(async () =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(503)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  const client = await dialBox(url, WITH_INSTANCE)
  const backend = { name: 'docker', available: false, reason: 'the backend docker is not available' }
  expect(await client.ask('box_init', { backend: 'local' })).toMatchObject({ code: 0 })
  expect(await client.ask('box_get_backend_info')).toMatchObject({ data: backend })
  expect(await client.ask('box_status', {}, CONTEXT)).toMatchObject({ data: { backend, active_sessions: 0 } })
  expect(await client.ask('box_get_sessions', {}, CONTEXT)).toMatchObject({ data: { sessions: [] } })
  for (const [action, data] of [
    ['box_exec', { session_id: 's', cmd: 'true' }],
    ['box_list_skills', {}],
  ] as const)
    expect(await client.ask(action, data, CONTEXT)).toMatchObject({
      message: 'BoxBackendUnavailableError: the backend docker is not available',
    })
  isThere = true
  expect(await waiting).toEqual({ chosen: 'chosen', port })
  await client.closed
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

test('a backend that is there opens nothing, and any other failure ends the start', async () => {
  expect(await awaitBackend(needsOf(async () => 'chosen', 1))).toEqual({ chosen: 'chosen', port: 1 })
  const broken = async () => Promise.reject(new HoldfastError('config_invalid', 'no'))
  await expect(awaitBackend(needsOf(broken, 1))).rejects.toMatchObject({ code: 'config_invalid' })
})
