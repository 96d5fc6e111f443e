/** An address as a host writes it becomes the two addresses of its server. */
import { expect, test } from 'vitest'
import { boxEndpoint } from './endpoint.ts'

const ADDRESSES = {
  'http://box:5410': ['ws://box:5410/rpc/ws', 'http://box:5410'],
  'https://box.example': ['wss://box.example:5410/rpc/ws', 'https://box.example:5410'],
  'ws://box:9000/some/path?q=1': ['ws://box:9000/rpc/ws', 'http://box:9000'],
  'wss://box': ['wss://box:5410/rpc/ws', 'https://box:5410'],
  'box:7000': ['ws://box:7000/rpc/ws', 'http://box:7000'],
  box: ['ws://box:5410/rpc/ws', 'http://box:5410'],
  'http://box:80': ['ws://box:80/rpc/ws', 'http://box:80'],
  'https://box:443/': ['wss://box:443/rpc/ws', 'https://box:443'],
  ' http://127.0.0.1 ': ['ws://127.0.0.1:5410/rpc/ws', 'http://127.0.0.1:5410'],
  'http://[::1]:80': ['ws://[::1]:80/rpc/ws', 'http://[::1]:80'],
  'http://[::1]': ['ws://[::1]:5410/rpc/ws', 'http://[::1]:5410'],
}

test.each(Object.entries(ADDRESSES))('%s', (address, [rpcUrl, relayUrl]) => {
  expect(boxEndpoint(address)).toEqual({ rpcUrl, relayUrl })
})

test.each(['', 'ftp://box', 'http://', 'http://box:port', 'file:///etc'])('refuses %j', (address) => {
  expect(() => boxEndpoint(address)).toThrow('runtime.endpoint must be an address')
})
