/** Engine addresses as people write them. */
import { expect, test } from 'vitest'
import { formatEngineAddress, parseEngineAddress } from './engine-address.ts'

test('a unix address and a bare path are the same socket', () => {
  expect(parseEngineAddress('unix:///run/docker.sock')).toEqual({ kind: 'unix', path: '/run/docker.sock' })
  expect(parseEngineAddress('/run/docker.sock')).toEqual({ kind: 'unix', path: '/run/docker.sock' })
})

test('a tcp address has a host and a port, 2375 when none is named', () => {
  expect(parseEngineAddress('tcp://10.0.0.1:2376')).toEqual({ kind: 'tcp', host: '10.0.0.1', port: 2376 })
  expect(parseEngineAddress('tcp://engine.internal')).toEqual({ kind: 'tcp', host: 'engine.internal', port: 2375 })
  expect(parseEngineAddress('tcp://[::1]:99')).toEqual({ kind: 'tcp', host: '::1', port: 99 })
})

test.each(['ssh://user@host', 'npipe:////./pipe/docker', 'unix://relative.sock', 'tcp://', '', 'docker.sock'])(
  'the address %j is refused by name',
  (text) => {
    expect(() => parseEngineAddress(text)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(`'${text}'`) }),
    )
  },
)

test('a formatted address parses to itself', () => {
  for (const text of ['unix:///run/docker.sock', 'tcp://10.0.0.1:2376']) expect(formatEngineAddress(parseEngineAddress(text))).toBe(text)
})
