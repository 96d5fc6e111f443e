/** The choice of a backend: order, explicit wishes, refusals. The backends here only answer a probe. */
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { BackendKind, ImageFacet, Probe, SandboxBackend } from './backend.ts'
import { chooseBackend, parseBackendWish, probeAll } from './choose.ts'

const CAPABILITIES = {
  limits: { cpus: true, memory: true, pids: true },
  networkOn: true,
  images: true,
  writableRoot: true,
  rootUser: false,
  severalUsers: true,
  packing: true,
  reasons: {},
}
const available: Probe = { available: true, version: '1', capabilities: CAPABILITIES }
const missing = (kind: string): Probe => ({ available: false, reason: `${kind} is not there`, fix: `install ${kind}` })

const wish = (kind: BackendKind | 'auto', isImageNamed = false) => ({ kind, image: 'some:image', isImageNamed })
const noSuchImage = { ensure: () => Promise.reject(new HoldfastError('image_missing', 'there is no image some:image')) }

function machine(answers: Partial<Record<BackendKind, () => Promise<Probe>>>, images: Partial<Record<BackendKind, ImageFacet>> = {}) {
  return async (kind: BackendKind): Promise<SandboxBackend> => {
    const unused = () => Promise.reject(new Error('only probed here'))
    const facet = images[kind]
    return {
      kind,
      ...(facet === undefined ? {} : { images: facet }),
      probe: answers[kind] ?? (async () => missing(kind)),
      check: unused,
      create: unused,
      attach: unused,
      list: unused,
      destroy: unused,
    }
  }
}

test.each([
  [['podman', 'docker', 'nsjail', 'bubblewrap'], 'podman'],
  [['bubblewrap', 'nsjail', 'docker'], 'docker'],
  [['bubblewrap', 'nsjail'], 'nsjail'],
  [['bubblewrap'], 'bubblewrap'],
] as const)('of %j, auto takes %s', async (present, chosen) => {
  const open = machine(Object.fromEntries(present.map((kind) => [kind, async () => available])))
  expect((await chooseBackend(open, wish('auto'))).backend.kind).toBe(chosen)
})

test('an explicit choice is never replaced by another that is available', async () => {
  const open = machine({ bubblewrap: async () => available })
  await expect(chooseBackend(open, wish('docker'))).rejects.toMatchObject({
    code: 'backend_unavailable',
    message: 'the backend docker is not available. docker: docker is not there (fix: install docker)',
  })
})

test('when there is none, one error lists each reason and fix', async () => {
  const message = await chooseBackend(machine({}), wish('auto')).catch((error: Error) => error.message)
  for (const kind of ['podman', 'docker', 'nsjail', 'bubblewrap'])
    expect(message).toContain(`${kind}: ${kind} is not there (fix: install ${kind})`)
})

test('auto passes over an engine that cannot get the image, and says so', async () => {
  const open = machine({ podman: async () => available, bubblewrap: async () => available }, { podman: noSuchImage })
  const chosen = await chooseBackend(open, wish('auto'))
  expect(chosen.backend.kind).toBe('bubblewrap')
  expect(chosen.passedOver[0]).toContain('podman: there is no image some:image (fix: ')
})

test('auto never takes a backend without images when an image was named', async () => {
  const open = machine({ docker: async () => available, bubblewrap: async () => available }, { docker: noSuchImage })
  await expect(chooseBackend(open, wish('auto', true))).rejects.toMatchObject({
    code: 'backend_unavailable',
    message: expect.stringContaining('bubblewrap: it runs no images, and some:image was named'),
  })
})

test('an explicit choice is taken whatever its images, which its creations will speak of', async () => {
  const open = machine({ docker: async () => available }, { docker: noSuchImage })
  expect((await chooseBackend(open, wish('docker'))).backend.kind).toBe('docker')
})

test('a probe that hangs counts as unavailable and is aborted', async () => {
  let isAborted = false
  const hanging = (signal?: AbortSignal) => new Promise<Probe>(() => signal?.addEventListener('abort', () => (isAborted = true)))
  const open = machine({ podman: hanging, docker: async () => available })
  expect((await chooseBackend(open, wish('auto'), 5)).backend.kind).toBe('docker')
  expect(isAborted).toBe(true)
})

test('a quick first choice does not wait for a hanging later one', async () => {
  const open = machine({ podman: async () => available, docker: () => new Promise<Probe>(() => {}) })
  expect((await chooseBackend(open, wish('auto'), 600_000)).backend.kind).toBe('podman')
})

test('a probe that throws is one unavailable backend, not a failed doctor', async () => {
  const open = machine({ docker: () => Promise.reject(new Error('boom')) })
  const probes = await probeAll(open)
  expect(probes.find(({ kind }) => kind === 'docker')?.probe).toMatchObject({ available: false, reason: 'could not be probed: boom' })
})

test('an unknown backend is refused by name, the host too', () => {
  expect(() => parseBackendWish('host')).toThrow('there is no backend "host"; choose auto, podman, docker, nsjail, bubblewrap')
  expect(parseBackendWish('nsjail')).toBe('nsjail')
})
