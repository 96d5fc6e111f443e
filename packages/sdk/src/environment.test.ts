/** The environment of Node, Deno, a browser, and a Deno that refuses. */
import { expect, test } from 'vitest'
import { fromEnvironment } from './environment.ts'

test('it is read where there is one, and empty text is nothing', () => {
  expect(fromEnvironment('HOLDFAST_URL', { process: { env: { HOLDFAST_URL: 'http://a' } } })).toBe('http://a')
  expect(fromEnvironment('HOLDFAST_URL', { process: { env: { HOLDFAST_URL: '' } } })).toBeUndefined()
  expect(fromEnvironment('HOLDFAST_URL', { Deno: { env: { get: (name) => `deno ${name}` } } })).toBe('deno HOLDFAST_URL')
  expect(fromEnvironment('HOLDFAST_URL', {})).toBeUndefined()
})

test('a Deno that does not allow it has none', () => {
  const get = () => {
    throw new Error('NotCapable: Requires env access')
  }
  expect(fromEnvironment('HOLDFAST_API_KEY', { Deno: { env: { get } } })).toBeUndefined()
})
