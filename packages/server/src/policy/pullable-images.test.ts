/** Which images are fetched from a registry for a caller. */
import { expect, test } from 'vitest'
import { pullableImages } from './pullable-images.ts'

test('without a setting only what the operator configured is fetched', () => {
  const mayPull = pullableImages({ configured: ['python:3.11-slim', null, 'registry:5000/base'], allowed: [] })
  expect(['python:3.11-slim', 'registry:5000/base'].map(mayPull)).toEqual([true, true])
  for (const image of ['python:3.12', 'ghcr.io/a/b', '127.0.0.1:5000/a/b:x', 'python:3.11-slim@sha256:00'])
    expect(mayPull(image)).toBe(false)
})

test('a name is exact, and a beginning ends with *', () => {
  const mayPull = pullableImages({ configured: [], allowed: ['ghcr.io/acme/*', 'node:24', 'local:5000/tools:1'] })
  expect(['ghcr.io/acme/a:1', 'node:24', 'local:5000/tools:1'].map(mayPull)).toEqual([true, true, true])
  expect(['ghcr.io/other/a', 'ghcr.io/acmes', 'node:24-slim', 'local:5000/tools:2'].map(mayPull)).toEqual([false, false, false, false])
})

test.each([
  ...['127.0.0.1:5000/a', '10.0.0.1/a', '127.1:80/a', '0x7f.1/a', '2130706433:80/a', 'localhost/a', 'localhost:5000/a', 'registry:5000/a'],
  ...['169.254.169.254/latest/meta-data:x', 'example.0x7f:1/a'],
])('%s is never fetched for a caller, even where every image is allowed', (image) => {
  expect(pullableImages({ configured: [], allowed: ['*'] })(image)).toBe(false)
})

test.each(['python', 'library/python:3', 'ghcr.io/a/b', 'registry.example.com:5000/a'])(
  '%s is fetched where every image is allowed',
  (image) => {
    expect(pullableImages({ configured: [], allowed: ['*'] })(image)).toBe(true)
  },
)
