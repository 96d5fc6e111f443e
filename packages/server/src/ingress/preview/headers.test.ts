/** What becomes of headers on their way in and out. */
import { expect, test } from 'vitest'
import { inwardHeaders } from './inward-headers.ts'
import { fittedPlace, outwardHeaders } from './outward-headers.ts'

const KEY = `hf_${'a'.repeat(43)}`
const WAY = { isForUs: false, port: 3000, prefix: '', scheme: 'https', clientAddress: '9.9.9.9' }

function inward(sent: Readonly<Record<string, string>>, way: Partial<typeof WAY> = {}) {
  const headers = { host: 'abc.localhost:5410', ...sent }
  const headersDistinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
  return inwardHeaders({ headers, headersDistinct }, { ...WAY, ...way })
}

function outward(said: Readonly<Record<string, string | string[]>>, prefix = '') {
  const headersDistinct = Object.fromEntries(Object.entries(said).map(([name, value]) => [name, [value].flat()]))
  return outwardHeaders({ headersDistinct }, { port: 3000, prefix, requestId: 'req_1' })
}

test('the app is asked as localhost, and told who asked for what', () => {
  expect(inward({ 'x-forwarded-for': '1.1.1.1', forwarded: 'for=1.1.1.1', 'x-real-ip': '1.1.1.1', 'x-forwarded-port': '1' })).toEqual({
    host: 'localhost:3000',
    'x-forwarded-for': '9.9.9.9',
    'x-forwarded-host': 'abc.localhost:5410',
    'x-forwarded-proto': 'https',
  })
  expect(inward({}, { prefix: '/preview/a/1' })['x-forwarded-prefix']).toBe('/preview/a/1')
})

test('the origin of its own page is the app’s, that of any other stays', () => {
  for (const scheme of ['http', 'https'])
    expect(inward({ origin: `${scheme}://abc.localhost:5410` })['origin']).toBe('http://localhost:3000')
  for (const origin of ['https://evil.example', 'null', 'http://abc.localhost', 'http://x.localhost:5410'])
    expect(inward({ origin })['origin']).toBe(origin)
  expect(inward({})).not.toHaveProperty('origin')
})

test('credentials for this server are not passed on, those for the app are where they are not ours', () => {
  const sent = { authorization: 'Basic YTpi', 'x-api-key': 'theirs', cookie: 'a=1' }
  expect(inward(sent)).toMatchObject(sent)
  expect(inward(sent, { isForUs: true })).toEqual(expect.not.objectContaining({ authorization: expect.anything() as string }))
  expect(inward(sent, { isForUs: true })).toMatchObject({ cookie: 'a=1' })
  for (const ours of [`Bearer ${KEY}`, `bearer  ${KEY}`, KEY]) {
    expect(inward({ authorization: ours })).not.toHaveProperty('authorization')
    expect(inward({ 'x-api-key': ours })).not.toHaveProperty('x-api-key')
  }
  expect(inward({ 'x-holdfast-tenant': 'a', 'holdfast-session': 'b' })).not.toHaveProperty('x-holdfast-tenant')
  expect(inward({ 'sec-websocket-protocol': `holdfast.key.${KEY}, vite-hmr` })['sec-websocket-protocol']).toBe('vite-hmr')
  expect(inward({ 'sec-websocket-protocol': `holdfast.key.${KEY}` })).not.toHaveProperty('sec-websocket-protocol')
})

test('what a browser keeps for this host is not passed on to an app that is reached below it', () => {
  const browser = { cookie: 'of=another-app', 'sec-fetch-site': 'none' }
  expect(inward(browser, { isForUs: true })).not.toHaveProperty('cookie')
  expect(inward(browser)).toHaveProperty('cookie')
})

test('what is about one connection is not passed on, and what frames a message always is', () => {
  const sent = {
    connection: 'close, X-Hop , content-length',
    'x-hop': '1',
    'content-length': '5',
    te: 'trailers',
    expect: '100-continue',
    upgrade: 'h2c',
  }
  expect(Object.keys(inward(sent)).toSorted()).toEqual([
    'content-length',
    'host',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
  ])
  expect(outward({ connection: 'x-hop', 'x-hop': '1', 'transfer-encoding': 'chunked', 'keep-alive': '1', 'x-kept': '2' })).toEqual({
    ...{ 'x-kept': '2', 'x-request-id': 'req_1', 'referrer-policy': 'same-origin' },
  })
})

test('a cookie is for the app alone', () => {
  const cookies = ['a=1; domain=.localhost; Secure', 'b=2; DOMAIN', 'c=3; Path=/in; SameSite=Lax', 'd="x;Domain=y"']
  expect(outward({ 'set-cookie': cookies })['set-cookie']).toEqual(['a=1; Secure', 'b=2', 'c=3; Path=/in; SameSite=Lax', 'd="x'])
  expect(outward({ 'set-cookie': [...cookies.slice(0, 3), 'e=5; path=relative'] }, '/preview/a/1')['set-cookie']).toEqual([
    ...['a=1; Secure; Path=/preview/a/1/', 'b=2; Path=/preview/a/1/', 'c=3; SameSite=Lax; Path=/preview/a/1/in', 'e=5; Path=/preview/a/1/'],
  ])
})

test.each([
  ['http://localhost:3000/x?y#z', '/x?y#z', '/p/x?y#z'],
  ['http://127.0.0.1:3000', '/', '/p/'],
  ['https://[::1]:3000/x', '/x', '/p/x'],
  ['http://LOCALHOST:3000?x', '/?x', '/p/?x'],
  ['http://localhost:3000//evil.example/', '/evil.example/', '/p//evil.example/'],
  ['/x', '/x', '/p/x'],
  ['x', 'x', 'x'],
  ['//evil.example/', '//evil.example/', '//evil.example/'],
  ['http://localhost:30001/x', 'http://localhost:30001/x', 'http://localhost:30001/x'],
  ['http://localhost:3000.evil.example/', 'http://localhost:3000.evil.example/', 'http://localhost:3000.evil.example/'],
  ['https://elsewhere.example/', 'https://elsewhere.example/', 'https://elsewhere.example/'],
  ['/p/x', '/p/x', '/p/x'],
])('a redirection to %s fits the host of a link as %s, and a prefix as %s', (place, onLink, onPath) => {
  expect(fittedPlace(place, 3000, '')).toBe(onLink)
  expect(fittedPlace(place, 3000, '/p')).toBe(onPath)
})
