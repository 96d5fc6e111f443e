/** Where a request comes from: the peer, or what a trusted proxy says, and never what a client says of itself. */
import { expect, test } from 'vitest'
import { clientAddresses, neighbourhood } from './client-address.ts'

test('without a trusted proxy the peer is who asks, whatever the header says', () => {
  const addressOf = clientAddresses([])
  expect(addressOf('198.51.100.7', '1.2.3.4')).toBe('198.51.100.7')
  expect(addressOf('::ffff:198.51.100.7', undefined)).toBe('198.51.100.7')
  expect(addressOf(undefined, '1.2.3.4')).toBe('unknown')
})

test.each([
  ['10.0.0.5', '203.0.113.9', '203.0.113.9'],
  ['10.0.0.5', 'spoofed, 6.6.6.6, 203.0.113.9, 10.0.0.8', '203.0.113.9'],
  ['::ffff:10.0.0.5', '2001:db8::1', '2001:db8::1'],
  ['::1', '203.0.113.9', '203.0.113.9'],
  ['10.0.0.5', undefined, '10.0.0.5'],
  ['10.0.0.5', 'nonsense', '10.0.0.5'],
  ['10.0.0.5', '203.0.113.9, nonsense, 10.0.0.8', '10.0.0.8'],
  ['10.0.0.5', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
  ['192.0.2.1', '203.0.113.9', '192.0.2.1'],
  [undefined, '203.0.113.9', 'unknown'],
  ['fe80::1%eth0', '203.0.113.9', 'fe80::1%eth0'],
  ['10.0.0.5', 'fe80::1%eth0', 'fe80::1%eth0'],
])('behind a trusted proxy %s with X-Forwarded-For %s it is %s', (peer, forwardedFor, expected) => {
  expect(clientAddresses(['10.0.0.0/8', '::1'])(peer, forwardedFor)).toBe(expected)
})

test.each(['10.0.0.0/33', 'proxy.example', '10.0.0.0/x', '', '::/129'])('%j is no proxy, and is refused at the start', (entry) => {
  expect(() => clientAddresses([entry])).toThrow(/trusted_proxies: .* is neither an address nor a network/)
})

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:0001:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['unknown', 'unknown'],
])('%s is counted as %s', (address, expected) => {
  expect(neighbourhood(address)).toBe(expected)
})
