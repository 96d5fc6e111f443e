/** Names of fields, here and on the wire. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { camel, snake } from './wire-names.ts'

test('the fields of the object are renamed, and nothing inside of them', () => {
  const wire = { exit_code: 0, labels: { team_name: 'a' }, items: [{ created_at: 'x' }], owner: null }
  expect(camel(wire)).toEqual({ exitCode: 0, labels: { team_name: 'a' }, items: [{ created_at: 'x' }], owner: null })
  expect(snake({ waitMs: 5, variables: { launcherType: 'group' } })).toEqual({ wait_ms: 5, variables: { launcherType: 'group' } })
})

test('what is undefined is not sent, what is null is', () => {
  expect(Object.keys(snake({ leaseSeconds: undefined, idleSeconds: null }))).toEqual(['idle_seconds'])
})

test('there and back is the same', () => {
  const name = fc.stringMatching(/^[a-z]+(_[a-z][a-z0-9]*)*$/)
  fc.assert(
    fc.property(fc.dictionary(name, fc.integer()), (wire) => {
      expect(snake(camel(wire))).toEqual({ ...wire })
    }),
  )
})
