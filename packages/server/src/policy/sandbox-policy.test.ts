/** Wishes laid over defaults. */
import { expect, test } from 'vitest'
import { sandboxPolicy } from './sandbox-policy.ts'

const limits = { cpus: 1, memoryBytes: 2 ** 29, pids: 128, tmpBytes: 2 ** 26, openFiles: 1024 }
const policyOf = (hasImages: boolean) => sandboxPolicy({ image: 'python:3.11-slim', network: 'off', limits, hasImages })

test('an empty wish gives the defaults, with a read-only root', () => {
  expect(policyOf(true).specFor({}, [])).toEqual({ image: 'python:3.11-slim', network: 'off', rootfs: 'read-only', mounts: [], limits })
})

test('where there are no images the default image is left out', () => {
  expect(policyOf(false).specFor({}, []).image).toBeNull()
})

test('an image that was asked for stays in the spec, so that the backend can refuse it', () => {
  expect(policyOf(false).specFor({ image: 'alpine' }, []).image).toBe('alpine')
})

test('null lifts a limit, a number replaces it, silence keeps it', () => {
  const spec = policyOf(true).specFor({ limits: { cpus: null, pids: 16 } }, [])
  expect(spec.limits).toEqual({ ...limits, cpus: null, pids: 16 })
})
