/** Pulls and their ends, against a scripted engine; what a real one says without a registry is in the engines' own tests. */
import { expect, test } from 'vitest'
import { PATIENCE_MS } from '../../../../../../test/servers/patience.ts'
import { engineClient } from './engine-client.ts'
import { assertImageReference, findImage, pullImage } from './engine-image.ts'
import { scriptedEngine, type Script } from './scripted-engine.ts'

const soon = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS)

async function pulled(lines: readonly unknown[], inspect: Script, reference = 'python:3') {
  await using engine = await scriptedEngine({
    '/images/create': (_request, response) => response.end(lines.map((line) => JSON.stringify(line)).join('\r\n')),
    '/images/': inspect,
  })
  const told: string[] = []
  const outcome = await pullImage(
    engineClient('docker', { kind: 'unix', path: engine.path }),
    reference,
    (line) => told.push(line),
    soon(),
  ).catch((error: unknown) => error)
  return { told, outcome, requests: engine.requests }
}

const present: Script = (_request, response) => response.end('{"Id":"sha256:1","Config":{"Volumes":{"/data":{}}}}')
const absent: Script = (_request, response) => response.writeHead(404).end('{}')

test('a pull tells whole percents of all layers together and yields the image with its volumes', async () => {
  const { told, outcome } = await pulled(
    [
      { status: 'Pulling from library/python' },
      { id: 'a', status: 'Downloading', progressDetail: { current: 0, total: 100 } },
      { id: 'b', status: 'Downloading', progressDetail: { current: 50, total: 100 } },
      { id: 'b', status: 'Downloading', progressDetail: { current: 50, total: 100 } },
      { id: 'a', status: 'Downloading', progressDetail: { current: 100, total: 100 } },
      { id: 'a', status: 'Pull complete', progressDetail: {} },
    ],
    present,
  )
  expect(told).toEqual(['pulling python:3', 'pulling python:3 0 %', 'pulling python:3 25 %', 'pulling python:3 75 %'])
  expect(outcome).toEqual({ id: 'sha256:1', volumes: ['/data'], layers: [] })
})

test('an error line is image_missing with its words', async () => {
  const { outcome } = await pulled([{ error: 'manifest unknown' }], absent)
  expect(outcome).toMatchObject({ code: 'image_missing', message: 'docker has no image python:3: pulling it failed: manifest unknown' })
})

test('a pull that ends without the image is image_missing', async () => {
  expect((await pulled([{ status: 'done' }], absent)).outcome).toMatchObject({ code: 'image_missing' })
})

test('a reference without a tag pulls only the latest', async () => {
  const { requests } = await pulled([], present, 'localhost:5000/python')
  expect(requests).toContain('POST /v1.46/images/create?fromImage=localhost%3A5000%2Fpython%3Alatest')
})

test('an image id is never asked of a registry', async () => {
  const { outcome, requests } = await pulled([], present, `sha256:${'0'.repeat(64)}`)
  expect(outcome).toMatchObject({ code: 'image_missing' })
  expect(requests).toEqual([])
})

test('an image with more volumes than mounts are worth is refused', async () => {
  const volumes = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`/v${index}`, {}]))
  await using engine = await scriptedEngine({
    '/images/': (_request, response) => response.end(JSON.stringify({ Id: 'sha256:1', Config: { Volumes: volumes } })),
  })
  await expect(findImage(engineClient('docker', { kind: 'unix', path: engine.path }), 'a', soon())).rejects.toMatchObject({
    code: 'capability_unsupported',
  })
})

test.each(['a b', '../info', 'a/../../info', 'a?all=1', 'a#b', 'a%2e', '', '-a', 'x'.repeat(300)])(
  'the reference %j never reaches the engine',
  (reference) => {
    expect(() => assertImageReference('docker', reference)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  },
)

test.each(['python:3.11-slim', 'localhost:5000/team/app@sha256:0123', 'docker.io/library/node:20-slim', 'sha256:0123'])(
  'the reference %j is accepted',
  (reference) => {
    expect(assertImageReference('docker', reference)).toBe(reference)
  },
)

test('no image at all is refused by name', () => {
  expect(() => assertImageReference('docker', null)).toThrow('docker needs an image')
})
