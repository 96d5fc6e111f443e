/** The client against a real socket whose answers are scripted. */
import { expect, test } from 'vitest'
import { PATIENCE_MS } from '../../../../../../test/servers/patience.ts'
import { engineClient, refusalReason, refusalStatus } from './engine-client.ts'
import { scriptedEngine, VERSION_ANSWER } from './scripted-engine.ts'

const soon = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS)
const clientOf = (path: string) => engineClient('docker', { kind: 'unix', path })

test('calls use the newest API version that both sides speak, asked for once', async () => {
  await using engine = await scriptedEngine({ '/images/': (_request, response) => response.end('{"Id":"sha256:1"}') })
  const client = clientOf(engine.path)
  await client.inspectImage('a:1', soon())
  await client.inspectImage('b:1', soon())
  expect(engine.requests).toEqual(['GET /version', 'GET /v1.46/images/a:1/json', 'GET /v1.46/images/b:1/json'])
})

test.each([
  ['too old', { ...VERSION_ANSWER, ApiVersion: '1.39' }],
  ['too new', { ...VERSION_ANSWER, ApiVersion: '2.5', MinAPIVersion: '2.0' }],
])('an engine that is %s is refused with both ranges in the sentence', async (_name, version) => {
  await using engine = await scriptedEngine({ '/version': (_request, response) => response.end(JSON.stringify(version)) })
  await expect(clientOf(engine.path).info(soon())).rejects.toMatchObject({
    code: 'backend_unavailable',
    message: expect.stringContaining(version.ApiVersion),
  })
})

test("a refusal carries the engine's words and status", async () => {
  await using engine = await scriptedEngine({
    '/containers/': (_request, response) => response.writeHead(409).end('{"message":"name is in use","cause":"conflict"}'),
  })
  const failure = await clientOf(engine.path)
    .startContainer('x', soon())
    .catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'backend_unavailable', message: 'docker could not start the sandbox: name is in use' })
  expect([refusalReason(failure), refusalStatus(failure)]).toEqual(['name is in use', 409])
})

test('a refusal that is not JSON is shown as it is, shortened', async () => {
  await using engine = await scriptedEngine({ '/info': (_request, response) => response.writeHead(500).end('x'.repeat(10_000)) })
  const failure = await clientOf(engine.path)
    .info(soon())
    .catch((error: unknown) => error)
  expect(refusalReason(failure)).toBe('x'.repeat(500))
})

test('what is not there is null or gone, not a failure', async () => {
  await using engine = await scriptedEngine({ '/v1': (_request, response) => response.writeHead(404).end('{"message":"no such thing"}') })
  const client = clientOf(engine.path)
  expect(await client.inspectImage('a', soon())).toBeNull()
  expect(await client.inspectContainer('a', soon())).toBeNull()
  expect(await client.removeContainer('a', soon())).toBe('gone')
})

test('an answer in another shape is an engine failure', async () => {
  await using engine = await scriptedEngine({ '/containers/': (_request, response) => response.end('{"surprise":true}') })
  await expect(clientOf(engine.path).listContainers([], soon())).rejects.toMatchObject({
    code: 'backend_unavailable',
    message: expect.stringContaining('unknown shape'),
  })
})

test('an endless answer is cut off at its limit', async () => {
  await using engine = await scriptedEngine({
    '/info': (_request, response) => {
      const chunk = ' '.repeat(1024 * 1024)
      const more = (): void => {
        if (!response.destroyed) response.write(chunk, more)
      }
      more()
    },
  })
  await expect(clientOf(engine.path).info(soon())).rejects.toMatchObject({
    code: 'backend_unavailable',
    message: expect.stringContaining('above'),
  })
})

test('an endless line of a stream is cut off at its limit', async () => {
  await using engine = await scriptedEngine({
    '/images/create': (_request, response) => {
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(50_000), more)
      }
      more()
    },
  })
  await expect(clientOf(engine.path).pullImage('a:1', () => undefined, soon())).rejects.toMatchObject({
    code: 'backend_unavailable',
    message: expect.stringContaining('above'),
  })
})

test('lines of a stream arrive whole however they are cut', async () => {
  await using engine = await scriptedEngine({
    '/images/create': (_request, response) => {
      response.write('{"status":"a')
      setImmediate(() => response.end('ä"}\r\n{"status":"b"}'))
    },
  })
  const lines: string[] = []
  await clientOf(engine.path).pullImage('a:1', (line) => lines.push(line.trim()), soon())
  expect(lines).toEqual(['{"status":"aä"}', '{"status":"b"}'])
})

test('an absent engine is named with its address and the system error', async () => {
  await expect(clientOf('/nowhere/engine.sock').version(soon())).rejects.toMatchObject({
    code: 'backend_unavailable',
    details: { errno: 'ENOENT', address: 'unix:///nowhere/engine.sock' },
  })
})

test('an aborted call ends with the reason of the abort', async () => {
  await using engine = await scriptedEngine({ '/info': () => undefined })
  const controller = new AbortController()
  const reason = new Error('enough')
  const call = clientOf(engine.path).info(controller.signal)
  controller.abort(reason)
  await expect(call).rejects.toBe(reason)
})

test('an engine that is silent beyond the deadline is unavailable', async () => {
  await using engine = await scriptedEngine({ '/info': () => undefined })
  await expect(clientOf(engine.path).info(AbortSignal.timeout(100))).rejects.toMatchObject({
    code: 'backend_unavailable',
    message: expect.stringContaining('in time'),
  })
})

test('a kept connection that the engine dropped is replaced without a failure', async () => {
  let answers = 0
  await using engine = await scriptedEngine({
    '/info': (request, response) => {
      answers++
      if (answers === 2) request.socket.destroy()
      else response.end('{}')
    },
  })
  const client = clientOf(engine.path)
  await client.info(soon())
  await client.info(soon())
  expect(answers).toBe(3)
})
