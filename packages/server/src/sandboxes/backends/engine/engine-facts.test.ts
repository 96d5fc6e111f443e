/** Capabilities against wishes. */
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { SandboxSpec } from '../../spec.ts'
import { assertCapable, engineCapabilities, engineUnavailable, probeOf } from './engine-facts.ts'

const NO_WISHES: SandboxSpec = {
  image: 'a',
  network: 'off',
  rootfs: 'read-only',
  mounts: [],
  limits: { cpus: null, memoryBytes: null, pids: null, tmpBytes: 1, openFiles: 1 },
}
const WEAK = engineCapabilities({
  engine: 'docker',
  cpus: false,
  memory: false,
  pids: false,
  limitsFix: 'enable it',
  networkProblem: 'no bridge',
  packingProblem: null,
  writableRootProblem: 'no overlay',
  rootUserProblem: null,
})

test('an engine that can do little honours a spec that wishes little', () => {
  expect(() => assertCapable('docker', WEAK, NO_WISHES)).not.toThrow()
})

test.each([
  ['cpus', { limits: { ...NO_WISHES.limits, cpus: 2 } }],
  ['memory', { limits: { ...NO_WISHES.limits, memoryBytes: 5 } }],
  ['pids', { limits: { ...NO_WISHES.limits, pids: 9 } }],
  ['writableRoot', { rootfs: 'writable' as const }],
  ['networkOn', { network: 'on' as const }],
] as const)('a wish for %s beyond the engine is refused with the reason', (capability, wish) => {
  const reason = WEAK.reasons[capability] ?? 'none given'
  expect(() => assertCapable('docker', WEAK, { ...NO_WISHES, ...wish })).toThrow(
    expect.objectContaining({
      code: 'capability_unsupported',
      message: expect.stringContaining(reason),
      details: { engine: 'docker', capability },
    }),
  )
})

test('a probe of an unusable engine gives the reason and the fix', async () => {
  expect(await probeOf(Promise.reject(engineUnavailable('it is down', 'start it')))).toEqual({
    available: false,
    reason: 'it is down',
    fix: 'start it',
  })
  expect(await probeOf(Promise.reject(new HoldfastError('backend_unavailable', 'odd')))).toMatchObject({ available: false, reason: 'odd' })
})
