/** The key of this machine's server is shown to this machine only. */
import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { isThisMachine } from './this-machine.ts'

test.each(['http://127.0.0.1:5410', 'http://localhost', 'http://[::1]:5410', `http://${hostname()}:1`, 'https://holdfast.example'])(
  '%s is',
  (url) => expect(isThisMachine(url, ['holdfast.example', null])).toBe(true),
)

test.each(['http://192.0.2.7:5410', 'https://example.com', 'http://127.0.0.1.example.com', 'nonsense', ''])('%s is not', (url) =>
  expect(isThisMachine(url, ['holdfast.example', null])).toBe(false),
)
