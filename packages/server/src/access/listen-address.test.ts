/** Addresses and names: what may be listened on, what a request may call it. */
import { expect, test } from 'vitest'
import { checkOrigin, checkListenAddress, hostCheck } from './listen-address.ts'

test.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost'])('%s may be listened on without a key', (host) => {
  expect(() => checkListenAddress(host, 'none')).not.toThrow()
})

test.each(['0.0.0.0', '::', '192.168.1.5', 'example.org', '127.0.0.1.example.org'])('%s is refused without a key', (host) => {
  expect(() => checkListenAddress(host, 'none')).toThrow(`refusing to listen on ${host} without a key`)
  expect(() => checkListenAddress(host, 'key')).not.toThrow()
})

test.each(['127.0.0.1:5410', 'localhost', 'LOCALHOST:1', '[::1]:5410'])('on loopback the Host %s is accepted', (header) => {
  expect(() => hostCheck('127.0.0.1')(header)).not.toThrow()
})

test.each([undefined, '', 'evil.example', 'evil.example:5410', '127.0.0.1.evil.example', 'localhost.evil.example:80'])(
  'on loopback the Host %s is refused, as a rebound name would be',
  (header) => expect(() => hostCheck('127.0.0.1')(header)).toThrow(/answers to loopback names only/),
)

test('on loopback the name that a proxy passes on is accepted, and no other', () => {
  const check = hostCheck('127.0.0.1', 'https://Holdfast.example:8443/')
  for (const header of ['holdfast.example', 'holdfast.example:8443', 'localhost']) expect(() => check(header)).not.toThrow()
  for (const header of ['evil.example', 'holdfast.example.evil.example']) expect(() => check(header)).toThrow(/loopback names only/)
})

test('beyond loopback any name may point here', () => {
  expect(() => hostCheck('0.0.0.0')('sandbox.example.org')).not.toThrow()
})

test.each([
  [undefined, '127.0.0.1:5410'],
  ['http://127.0.0.1:5410', '127.0.0.1:5410'],
  ['http://LOCALHOST:5410', 'localhost:5410'],
])('a request with the origin %j to %s is nobody else’s', (origin, host) => {
  expect(() => checkOrigin(origin, host)).not.toThrow()
})

test('a page of an origin that the operator named may use it, and nobody who looks like it', () => {
  const allowed = new Set(['https://app.example'])
  expect(() => checkOrigin('https://app.example', '127.0.0.1:5410', allowed)).not.toThrow()
  for (const origin of ['http://app.example', 'https://app.example:8443', 'https://evil.app.example', 'https://app.example.', 'null'])
    expect(() => checkOrigin(origin, '127.0.0.1:5410', allowed)).toThrow(/may not use this server/)
})

test.each(['https://evil.example', 'http://127.0.0.1:9999', 'null', 'nonsense'])('a page from %j may not use the server', (origin) => {
  expect(() => checkOrigin(origin, '127.0.0.1:5410')).toThrow(`pages from "${origin}" may not use this server`)
})
