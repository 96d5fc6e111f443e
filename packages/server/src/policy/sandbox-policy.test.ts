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

test('a bound on the workspace, and only that, makes space something that is written', () => {
  const { specFor } = policyOf(true)
  expect(specFor({ limits: { workspace_bytes: 2 ** 20 } }, []).refusesReserving).toBe(true)
  expect(specFor({ limits: { workspace_bytes: null } }, [])).not.toHaveProperty('refusesReserving')
})

test('a writable root is given to those who ask for it', () => {
  expect(policyOf(true).specFor({ rootfs: 'writable' }, []).rootfs).toBe('writable')
})

test('a wish is completed with every default, and keeps what it says', () => {
  const complete = {
    ...{ image: 'python:3.11-slim', network: 'off', rootfs: 'read-only', home: 'persistent', workspace: { mode: 'rw' } },
    limits: { cpus: 1, memory_bytes: 2 ** 29, pids: 128, tmp_bytes: 2 ** 26, open_files: 1024 },
  }
  expect(policyOf(true).complete({})).toEqual(complete)
  const wish = {
    profile: 'p',
    pipeline: 'l',
    rootfs: 'writable',
    home: 'ephemeral',
    workspace: { source: '/a', mode: 'ro', target: '/mnt/a' },
  } as const
  const mounts = [{ source: '/b', target: '/mnt/b', mode: 'ro' }] as const
  expect(policyOf(true).complete({ ...wish, mounts, max_timeout_ms: 5 })).toEqual({ ...complete, ...wish, mounts, max_timeout_ms: 5 })
})

test('the bound of a workspace is the wish’s, else the server’s, else none', () => {
  const bounded = sandboxPolicy({ image: 'i', network: 'off', limits, hasImages: true, workspaceBytes: 2 ** 30 })
  const boundOf = (policy: typeof bounded, wish: number | null | undefined) =>
    policy.complete({ limits: { workspace_bytes: wish } }).limits?.workspace_bytes
  expect([boundOf(bounded, undefined), boundOf(bounded, 2 ** 20), boundOf(bounded, null)]).toEqual([2 ** 30, 2 ** 20, undefined])
  expect([boundOf(policyOf(true), undefined), boundOf(policyOf(true), 2 ** 20)]).toEqual([undefined, 2 ** 20])
})
