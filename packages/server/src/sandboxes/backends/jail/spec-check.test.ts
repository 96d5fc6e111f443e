/** A wish that cannot be honoured exactly is refused, with the reason. */
import { expect, test } from 'vitest'
import type { Capabilities } from '../../backend.ts'
import type { SandboxSpec } from '../../spec.ts'
import { checkSpec } from './spec-check.ts'

const MOST_FILES = 1024
const LIMITS = { cpus: 1, memoryBytes: 64 << 20, pids: 32, tmpBytes: 1 << 20, openFiles: 256 }
const SPEC: SandboxSpec = { image: null, network: 'on', rootfs: 'read-only', mounts: [], limits: LIMITS }
const ABLE: Capabilities = {
  limits: { cpus: true, memory: true, pids: true },
  networkOn: true,
  images: false,
  writableRoot: false,
  rootUser: false,
  severalUsers: true,
  packing: true,
  reasons: { images: 'no images', writableRoot: 'no root', networkOn: 'no helper', cpus: 'no cpu', memory: 'no memory', pids: 'no pids' },
}
const UNABLE: Capabilities = { ...ABLE, limits: { cpus: false, memory: false, pids: false }, networkOn: false }
const NO_LIMITS = { ...LIMITS, cpus: null, memoryBytes: null, pids: null }

test('what it can do is accepted', () => {
  expect(() => checkSpec('bubblewrap', SPEC, ABLE, MOST_FILES)).not.toThrow()
  expect(() => checkSpec('bubblewrap', { ...SPEC, network: 'off', limits: NO_LIMITS }, UNABLE, MOST_FILES)).not.toThrow()
})

test.each<[string, Partial<SandboxSpec>, Capabilities]>([
  ["cannot run the image 'alpine': no images", { image: 'alpine' }, ABLE],
  ['cannot give a writable root: no root', { rootfs: 'writable' }, ABLE],
  ['cannot turn the network on: no helper', { limits: NO_LIMITS }, UNABLE],
  ['cannot limit the CPUs: no cpu', { network: 'off', limits: { ...NO_LIMITS, cpus: 1 } }, UNABLE],
  ['cannot limit the memory: no memory', { network: 'off', limits: { ...NO_LIMITS, memoryBytes: 1 << 30 } }, UNABLE],
  ['cannot limit the processes: no pids', { network: 'off', limits: { ...NO_LIMITS, pids: 10 } }, UNABLE],
  ['cannot run with 1 bytes of memory: the least is 8388608', { limits: { ...LIMITS, memoryBytes: 1 } }, ABLE],
  ['cannot run with 0 CPUs', { limits: { ...LIMITS, cpus: 0 } }, ABLE],
  ['cannot run with NaN CPUs', { limits: { ...LIMITS, cpus: Number.NaN } }, ABLE],
  ['cannot run with 1 processes', { limits: { ...LIMITS, pids: 1 } }, ABLE],
  ['cannot run with 3 open files', { limits: { ...LIMITS, openFiles: 3 } }, ABLE],
  ['cannot run with 1025 open files: the most is 1024', { limits: { ...LIMITS, openFiles: 1025 } }, ABLE],
  ['cannot run with 0 bytes of temporary space', { limits: { ...LIMITS, tmpBytes: 0 } }, ABLE],
  ['cannot mount at /usr/bin: that is a path of the sandbox itself', { mounts: [{ source: '/a', target: '/usr/bin', mode: 'ro' }] }, ABLE],
  ['cannot mount at /: ', { mounts: [{ source: '/a', target: '/', mode: 'ro' }] }, ABLE],
  ['cannot mount at /data/../usr: ', { mounts: [{ source: '/a', target: '/data/../usr', mode: 'ro' }] }, ABLE],
  ['cannot mount at data: ', { mounts: [{ source: '/a', target: 'data', mode: 'ro' }] }, ABLE],
])('%s', (message, wish, capabilities) => {
  const attempt = () => checkSpec('bubblewrap', { ...SPEC, ...wish }, capabilities, MOST_FILES)
  expect(attempt).toThrow(expect.objectContaining({ code: 'capability_unsupported', message: expect.stringContaining(message) }))
})
