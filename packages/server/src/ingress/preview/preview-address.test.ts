/** Which requests are for apps inside, and what links to them look like. */
import { expect, test } from 'vitest'
import { previewAddresses } from './preview-address.ts'

const here = previewAddresses({ publicUrl: null, domain: null, port: () => 5410 })
const outside = previewAddresses({ publicUrl: 'https://box.example', domain: 'preview.example', port: () => 5410 })
const read = (addresses: typeof here, host: string | undefined, url: string) => addresses.read({ headers: { host }, url })

test('below /preview/ the first two pieces are the session and the port, the rest is the app’s', () => {
  const to = (url: string) => read(here, '127.0.0.1:5410', url)
  expect(to('/preview/ses_1/3000/a/b?c=d')).toEqual({
    form: 'path',
    session: 'ses_1',
    port: '3000',
    prefix: '/preview/ses_1/3000',
    path: '/a/b?c=d',
  })
  expect(to('/preview/ses_1/3000')).toMatchObject({ path: '/' })
  expect(to('/preview/ses_1/3000?x')).toMatchObject({ path: '/?x' })
  expect(to('/preview/ses_1/3000//evil.example/../x')).toMatchObject({ path: '//evil.example/../x' })
  for (const url of [
    '/preview',
    '/preview/',
    '/preview/ses_1',
    '/preview//3000/',
    '/previews/a/b',
    '/v1/preview/a/b',
    '*',
    'http://x/preview/a/1/',
  ])
    expect(to(url)).toBeNull()
})

test('every name below localhost, or below the domain, is a host of links and of nothing else', () => {
  for (const host of ['abc.localhost', 'ABC.LocalHost:5410', 'abc.localhost.', 'abc.localhost.:80'])
    expect(read(here, host, '/v1/sessions')).toEqual({ form: 'link', label: 'abc', prefix: '', path: '/v1/sessions' })
  expect(read(here, 'a.b.localhost', '/')).toMatchObject({ label: 'a.b' })
  for (const host of [
    'localhost',
    'localhost:5410',
    '127.0.0.1',
    '[::1]:5410',
    'xlocalhost',
    'abc.preview.example',
    'localhost.evil.example',
    undefined,
  ])
    expect(read(here, host, '/v1/sessions')).toBeNull()
  expect(read(outside, 'abc.preview.example', '/')).toMatchObject({ form: 'link', label: 'abc' })
  expect(read(outside, 'abc.localhost', '/')).toMatchObject({ form: 'link' })
  for (const host of ['box.example', 'preview.example', 'evilpreview.example']) expect(read(outside, host, '/')).toBeNull()
})

test('the server’s own name is its own, also below the domain of links', () => {
  const nested = previewAddresses({ publicUrl: 'https://api.preview.example', domain: 'preview.example', port: () => 1 })
  expect(read(nested, 'api.preview.example', '/')).toBeNull()
  expect(read(nested, 'abc.preview.example', '/')).not.toBeNull()
})

test('a link follows the public address where there is a domain, and is for this machine where there is none', () => {
  expect(here.linkOf('abc')).toBe('http://abc.localhost:5410/')
  expect(outside.linkOf('abc')).toBe('https://abc.preview.example/')
  const at = (publicUrl: string | null, domain: string | null) => previewAddresses({ publicUrl, domain, port: () => 5410 }).linkOf('abc')
  expect(at('https://box.example:8443/', 'preview.example')).toBe('https://abc.preview.example:8443/')
  expect(at('http://box.example', 'preview.example')).toBe('http://abc.preview.example/')
  expect(at(null, 'preview.example')).toBe('http://abc.preview.example:5410/')
  expect(at('https://box.example', null)).toBe('http://abc.localhost:5410/')
})

test('the longest label has room in a name of DNS', () => {
  expect('0123456789abcdef-abcdefghijklmnopqrstuvwxyz'.length).toBeLessThanOrEqual(63)
})
