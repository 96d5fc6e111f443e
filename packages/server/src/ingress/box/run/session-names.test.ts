/** The keys and labels of sessions, and the names of processes: no two ids meet. */
import { expect, test } from 'vitest'
import { explicitKeyHash } from '../../../policy/scopes/key-hash.ts'
import { RAW_TENANT, tenantOf } from '../tenant.ts'
import { processNameOf } from './process-names.ts'
import { keyOf, labelsOf, sessionLabels } from './session-names.ts'

const TENANT = tenantOf({ instance_uuid: 'inst-1', workspace_uuid: 'ws-A', placement_generation: 1 })

test('an id that is a name is found by the key that the relay’s address has', () => {
  expect(keyOf(TENANT, 's1')).toEqual({
    ...{ scope: null, key: 'ws-2db0470dd734a3cfd13ed6b1-g1-s1' },
    keyHash: explicitKeyHash('ws-2db0470dd734a3cfd13ed6b1-g1-s1'),
  })
})

test('ids that read alike have keys that read alike and are different', () => {
  const ids = ['a-b', 'a/b', 'a:b', 'a//b', '-a-b', 'a\nb', 'a\0b']
  const keys = ids.map((id) => keyOf(TENANT, id))
  expect(new Set(keys.map(({ key }) => key))).toEqual(new Set(['ws-2db0470dd734a3cfd13ed6b1-g1-a-b']))
  expect(new Set(keys.map(({ keyHash }) => keyHash)).size).toBe(ids.length)
  expect(new Set(ids.map((id) => JSON.stringify(sessionLabels(TENANT, id)))).size).toBe(1)
})

test('whatever an id is, its key and its labels can be stored', () => {
  for (const tenant of [TENANT, RAW_TENANT])
    for (const id of ['x'.repeat(5000), 'ctrl\u0001x', '漢字x', 'half\ud800x']) {
      const { key } = keyOf(tenant, id)
      expect(key.length).toBeLessThanOrEqual(1024)
      expect(key.isWellFormed() && !/\p{Cc}/u.test(key)).toBe(true)
      for (const value of Object.values(labelsOf(tenant, id))) expect(value).toMatch(/^[^\p{Cc}]{1,63}$/u)
    }
})

test('a process’s id may be any text', () => {
  const ids = ['p', 'default', '', '..', 'a/b', 'x'.repeat(64), 'x'.repeat(65), 'ünï', processNameOf('a/b'), 'A', 'a']
  const names = ids.map(processNameOf)
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
  expect(new Set(names).size).toBe(ids.length)
  expect(processNameOf('default')).toBe('default')
})
