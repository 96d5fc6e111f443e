/** Which addresses a webhook may reach. */
import { expect, test } from 'vitest'
import { allowedAddresses } from './public-address.ts'

const isAllowed = allowedAddresses([])

const REFUSED = [
  ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254'],
  ...['100.64.0.1', '100.127.255.255', '192.0.0.8', '192.0.2.1', '198.18.0.1', '198.19.255.255', '203.0.113.9', '224.0.0.1'],
  ...['239.255.255.255', '240.0.0.1', '255.255.255.255', '192.88.99.1'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:7f00:1', '::127.0.0.1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12::1'],
  ...['ff02::1', '64:ff9b::7f00:1', '64:ff9b:1::1', '100::1', '2001:db8::1', '2001::1', '2002:7f00:1::', '3fff::1', 'fec0::1'],
  ...['', 'localhost', '127.1', '8.8.8.8 '],
]
const ALLOWED = [
  '8.8.8.8',
  '1.1.1.1',
  '172.32.0.1',
  '172.15.255.255',
  '100.63.255.255',
  '100.128.0.1',
  '198.20.0.1',
  '2606:4700::1111',
  '2a00::1',
]

test.each(REFUSED)('refused: %s', (address) => expect(isAllowed(address)).toBe(false))
test.each(ALLOWED)('allowed: %s', (address) => expect(isAllowed(address)).toBe(true))

test('what the operator names is allowed, and nothing beside it', () => {
  const configured = allowedAddresses(['10.1.0.0/16', '::1/128'])
  expect(['10.1.2.3', '::1', '8.8.8.8'].map(configured)).toEqual([true, true, true])
  expect(['10.2.0.1', '127.0.0.1', 'fe80::1'].map(configured)).toEqual([false, false, false])
  for (const wrong of ['10.1.0.0', '10.1.0.0/33', 'ten/8', '10.0.0.0/', '::/129'])
    expect(() => allowedAddresses([wrong])).toThrow(`${wrong} is not a network`)
})
