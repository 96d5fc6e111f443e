/** Orphans of every backend that this server ever used. The backends here are directories that can be listed and removed. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { expect, onTestFinished, test } from 'vitest'
import type { BackendKind, SandboxBackend } from './backend.ts'
import { destroyOrphans } from './orphans.ts'

function machine(left: Partial<Record<BackendKind, readonly string[]>>, absent: readonly BackendKind[] = []) {
  const stateDir = mkdtempSync(join(tmpdir(), 'holdfast-orphans-'))
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }))
  const sandboxes = join(stateDir, 'sandboxes')
  for (const name of Object.values(left).flat()) mkdirSync(join(sandboxes, name), { recursive: true })
  const opened: BackendKind[] = []
  const backend = (kind: BackendKind): SandboxBackend => ({
    kind,
    probe: () => Promise.reject(new Error('not probed here')),
    check: () => Promise.reject(new Error('not checked here')),
    create: () => Promise.reject(new Error('not made here')),
    attach: () => Promise.reject(new Error('not attached here')),
    list: async () => {
      if (absent.includes(kind)) throw new HoldfastError('backend_unavailable', `${kind} is not there`)
      return (left[kind] ?? []).filter((name) => existsSync(join(sandboxes, name))).map((name) => ({ name, running: true }))
    },
    destroy: async (name) => rmSync(join(sandboxes, name), { recursive: true }),
  })
  const open = async (kind: BackendKind) => {
    opened.push(kind)
    return backend(kind)
  }
  return {
    search: { chosen: backend('bubblewrap'), open, stateDir, expected: new Set<string>() },
    opened,
    remaining: () => readdirSync(sandboxes),
  }
}

test('sandboxes of a backend that was used before are destroyed too', async () => {
  const { search, remaining } = machine({ bubblewrap: ['sbx_a'], docker: ['sbx_b', 'sbx_c'] })
  expect(await destroyOrphans(search)).toEqual({ destroyed: 3, kept: [] })
  expect(remaining()).toEqual([])
})

test('no other backend is asked when nothing is left', async () => {
  const { search, opened } = machine({ bubblewrap: ['sbx_a'] })
  expect(await destroyOrphans(search)).toEqual({ destroyed: 1, kept: [] })
  expect(opened).toEqual([])
})

test('what an absent engine holds is kept and named', async () => {
  const { search } = machine({ podman: ['sbx_p'], nsjail: ['sbx_n'] }, ['podman'])
  expect(await destroyOrphans(search)).toEqual({ destroyed: 1, kept: ['sbx_p'] })
})

test('a state directory that is still empty holds none', async () => {
  const { search } = machine({})
  expect(await destroyOrphans(search)).toEqual({ destroyed: 0, kept: [] })
})

test('what somebody still speaks of is left alone, also on another backend', async () => {
  const { search, remaining } = machine({ bubblewrap: ['sbx_a', 'sbx_b'], docker: ['sbx_c'] })
  expect(await destroyOrphans({ ...search, expected: new Set(['sbx_a', 'sbx_c']) })).toEqual({ destroyed: 1, kept: [] })
  expect(remaining().toSorted()).toEqual(['sbx_a', 'sbx_c'])
})
