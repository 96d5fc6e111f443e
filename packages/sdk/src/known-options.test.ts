/** Misspelt options are refused before anything is sent. */
import { expect, test } from 'vitest'
import { Holdfast } from './holdfast.ts'

const holdfast = new Holdfast({
  url: 'http://127.0.0.1:1',
  fetch: () => Promise.reject(new Error('nothing may be sent')),
})

test('a client with an unknown option is not made', () => {
  const options: object = { baseUrl: 'http://h' }
  expect(() => new Holdfast(options)).toThrow("new Holdfast has no option 'baseUrl'; it has url, apiKey")
})

test('exec names the option that was meant', async () => {
  const options = Object.assign({ key: 'demo', command: 'ls' }, { timeout: 5 })
  await expect(holdfast.exec(options)).rejects.toMatchObject({
    code: 'invalid_request',
    message: "exec has no option 'timeout'; do you mean timeoutMs?",
  })
})

test('getOrCreate refuses what it does not know, and takes what is left undefined', async () => {
  await expect(holdfast.sessions.getOrCreate(Object.assign({ key: 'demo' }, { idle: 5 }))).rejects.toThrow(
    "getOrCreate has no option 'idle'",
  )
  await expect(holdfast.sessions.getOrCreate(Object.assign({ key: 'demo', timeoutMs: 1 }, { idle: undefined }))).rejects.not.toThrow('idle')
})
