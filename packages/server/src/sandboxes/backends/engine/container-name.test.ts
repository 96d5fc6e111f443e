/** Container names and labels. */
import { expect, test } from 'vitest'
import { containerLabels, containerNameOf } from './container-name.ts'

const NAME = 'sbx_0123456789abcdef'

test('a plain server id is part of the name', () => {
  expect(containerNameOf('srv_1', NAME)).toBe(`holdfast-srv_1-${NAME}`)
})

test.each(['a b', 'ä', 'x/y', '', 'x'.repeat(65)])('the server id %j still gives a valid name of its own', (serverId) => {
  expect(containerNameOf(serverId, NAME)).toMatch(/^holdfast-[0-9a-f]{24}-sbx_0123456789abcdef$/)
  expect(containerNameOf(serverId, NAME)).not.toBe(containerNameOf(`${serverId}!`, NAME))
})

test('the label holds the server id as it is', () => {
  expect(containerLabels('a b', NAME)).toEqual({ 'holdfast.server': 'a b', 'holdfast.sandbox': NAME, 'holdfast.version': '1' })
})
