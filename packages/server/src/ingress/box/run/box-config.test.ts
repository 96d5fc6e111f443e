/** What LangBot says the server is to be: section by section, within bounds, and nothing of it when it is wrong. */
import { DEFAULT_BOX_LIMITS } from '@holdfast/protocol/box'
import { expect, test } from 'vitest'
import { boxConfig } from './box-config.ts'

test('a section replaces the one before it whole, and the others stay', () => {
  const config = boxConfig('/srv/box')
  config.init({ limits: { max_sessions: 3, max_managed_processes: 4 }, local: { allowed_mount_roots: ['/a', '/b/'] } })
  config.init({ limits: { max_sessions: 5 }, backend: 'docker', e2b: { api_key: 'secret' } })
  expect(config.limits).toEqual({ ...DEFAULT_BOX_LIMITS, max_sessions: 5 })
  expect(config.clientRoots).toEqual(['/a', '/b/'])
  config.init({ local: { allowed_mount_roots: '/c, /d' } })
  expect(config.clientRoots).toEqual(['/c', '/d'])
})

test('a wrong limit changes nothing at all', () => {
  const config = boxConfig('/srv/box')
  for (const limits of [[], 5, { max_sessions: true }, { max_sessions: '5' }, { max_sessions: -1 }, { max_sessions: 1.5 }])
    expect(() => config.init({ limits, local: { default_workspace: '/elsewhere' } })).toThrow(/limits/)
  expect(config.limits).toEqual(DEFAULT_BOX_LIMITS)
  expect(config.defaultWorkspace).toBe('/srv/box/default')
})

test('a relative directory is one of the client’s machine, and stays below the server’s own root', () => {
  const config = boxConfig('/srv/box')
  config.init({ local: { host_root: './data/box', allowed_mount_roots: ['./data/box', '/tmp'], default_workspace: '' } })
  expect([config.clientRoots, config.defaultWorkspace]).toEqual([null, '/srv/box/default'])
  config.init({ local: { default_workspace: '../../etc' } })
  expect(config.defaultWorkspace).toBe('/srv/box/etc')
  config.init({ local: { default_workspace: '/shared//files' } })
  expect(config.defaultWorkspace).toBe('/shared/files')
})

test('a client that wants commands on the bare host is refused, and nothing has changed', () => {
  const config = boxConfig('/srv/box')
  config.init({ backend: 'Docker' })
  expect(() => config.init({ backend: 'host', limits: { max_sessions: 3 } })).toThrow(/without isolation/)
  expect([config.backend, config.limits.max_sessions]).toEqual(['docker', DEFAULT_BOX_LIMITS.max_sessions])
  config.init({ backend: 'local' })
  expect(config.backend).toBeNull()
})

test('what makes no sense is as if it was not said', () => {
  const config = boxConfig('/srv/box')
  config.init({ local: 7 })
  config.init({ local: { host_root: 7, default_workspace: [], allowed_mount_roots: { a: 1 } } })
  expect([config.clientRoots, config.defaultWorkspace]).toEqual([null, '/srv/box/default'])
})
