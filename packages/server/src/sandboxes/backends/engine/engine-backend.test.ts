/** Against a scripted engine: images that a caller names, and sandboxes that a killed server left. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Log } from '../../../telemetry/log.ts'
import type { SandboxSpec } from '../../spec.ts'
import { engineBackend } from './engine-backend.ts'
import type { PullPolicy } from './engine-backend.ts'
import { engineClient } from './engine-client.ts'
import { engineCapabilities } from './engine-facts.ts'
import { sandboxDirectories } from './sandbox-directory.ts'
import { scriptedEngine } from './scripted-engine.ts'
import type { Script } from './scripted-engine.ts'

const NAME = 'sbx_0123456789abcdef'
const spec = (image: string): SandboxSpec => ({
  ...{ image, network: 'off', rootfs: 'read-only', mounts: [] },
  limits: { cpus: null, memoryBytes: null, pids: null, tmpBytes: 1, openFiles: 64 },
})

function backendOn(socketPath: string, stateDir: string, pull: PullPolicy, warn: Log['warn'] = () => undefined) {
  const capabilities = engineCapabilities({
    ...{ engine: 'docker', cpus: true, memory: true, pids: true, limitsFix: '' },
    ...{ networkProblem: null, packingProblem: null, writableRootProblem: null, rootUserProblem: null },
  })
  return engineBackend(
    {
      kind: 'docker',
      client: async () => engineClient('docker', { kind: 'unix', path: socketPath }),
      // Nothing is made here, so nothing asks for the traits.
      facts: async () => ({ version: '27', capabilities, traits: {} as never }),
      createRequest: () => ({}) as never,
      forget: () => undefined,
      close: async () => undefined,
    },
    { ...{ serverId: 'srv', stateDir, guestPath: '/no/guest', launcherPath: '/no/launcher' }, log: { warn } },
    pull,
  )
}

async function created(image: string, pull: PullPolicy, pulling: Script) {
  await using engine = await scriptedEngine({
    '/images/create': pulling,
    '/images/': (_request, response) => response.writeHead(404).end('{}'),
  })
  const logged: unknown[] = []
  const backend = backendOn(engine.path, tmpdir(), pull, (event, fields) => void logged.push([event, fields]))
  const attempts = [() => backend.check(spec(image)), () => backend.create(NAME, spec(image))]
  const failures = []
  for (const attempt of attempts) failures.push(await Promise.resolve(attempt()).catch((error: unknown) => error))
  return { failures, logged, pulls: engine.requests.filter((line) => line.includes('/images/create')) }
}

test('an image that may not be fetched is refused before the engine is asked to, so no host is asked either', async () => {
  const { failures, pulls } = await created(
    '127.0.0.1:5000/a/b:x',
    () => false,
    (_request, response) => response.end(),
  )
  const refusal = {
    code: 'image_missing',
    message: 'docker has no image 127.0.0.1:5000/a/b:x: it is not on the engine, and images.allowed does not let callers have it pulled',
  }
  expect(failures).toMatchObject([refusal, refusal])
  expect(pulls).toEqual([])
})

test('what a registry answered goes to the log and not to the caller', async () => {
  const words = 'unable to decode token response: invalid character'
  const { failures, logged, pulls } = await created(
    'ghcr.io/acme/a:1',
    () => true,
    (_request, response) => response.end(JSON.stringify({ error: words })),
  )
  expect(failures).toMatchObject([
    undefined,
    { code: 'image_missing', message: 'docker has no image ghcr.io/acme/a:1: pulling it failed; the log of the server has the reason' },
  ])
  expect(JSON.stringify(failures)).not.toContain(words)
  expect(logged).toMatchObject([['image-pull-failed', { image: 'ghcr.io/acme/a:1', problem: expect.stringContaining(words) }]])
  expect(pulls).toHaveLength(1)
})

test('a sandbox whose maker was killed before it was confined cannot be attached', async () => {
  const stateDir = await mkdtemp(join(tmpdir(), 'holdfast-state-'))
  const running = { Id: 'c', State: { Running: true }, Config: { Labels: { 'holdfast.server': 'srv' } } }
  await using engine = await scriptedEngine({ '/containers/': (_request, response) => response.end(JSON.stringify(running)) })
  try {
    const backend = backendOn(engine.path, stateDir, 'never')
    const directories = sandboxDirectories('docker', { serverId: 'srv', stateDir, guestPath: '/no/guest', launcherPath: '/no/launcher' })
    await directories.make(NAME)
    await expect(backend.attach(NAME)).rejects.toMatchObject({ code: 'sandbox_gone' })
    await directories.finish(NAME)
    expect(await backend.attach(NAME)).toMatchObject({ name: NAME })
  } finally {
    await rm(stateDir, { recursive: true })
  }
})
