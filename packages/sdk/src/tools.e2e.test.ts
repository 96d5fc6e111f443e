/** Tools of a real server, as the host of a model sees them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isSkipped, startServerForTests, why } from './contract/running-server.ts'
import type { ServerForTests } from './contract/running-server.ts'
import type { Holdfast } from './index.ts'

describe.skipIf(isSkipped)(`the tools of a server${why}`, () => {
  let running: ServerForTests
  let holdfast: Holdfast
  beforeAll(async () => {
    running = await startServerForTests()
    holdfast = running.client()
  })
  afterAll(() => running.close())

  test('their schemas come as they are and as functions, with guidance', async () => {
    const [tools, functions, guidance] = await Promise.all([holdfast.tools.list(), holdfast.tools.functions(), holdfast.tools.guidance()])
    expect(tools.map(({ name }) => name)).toContain('exec')
    expect(functions.map(({ function: { name, parameters } }) => [name, parameters])).toEqual(
      tools.map(({ name, inputSchema }) => [name, inputSchema]),
    )
    expect(guidance).toContain('exec')
  })

  test('a call does what it says in its session, from an object or from what a model wrote', async () => {
    const session = await holdfast.sessions.getOrCreate({ key: 'model' })
    expect(await session.tools.call('write', { path: 'a.txt', content: 'hello\n' })).toEqual({ ok: true, path: 'a.txt' })
    expect(await session.tools.call('exec', '{"command":"cat a.txt","timeout_sec":5}')).toMatchObject({ ok: true, stdout: 'hello\n' })
    expect(await session.tools.call('exec', '{"command":')).toMatchObject({
      ok: false,
      error: expect.stringContaining('not valid JSON') as string,
    })
    expect(await session.tools.call('exec', '')).toMatchObject({ ok: false, error: expect.stringContaining('command') as string })
    expect(await session.tools.call('read', { path: 'gone' })).toMatchObject({ ok: false })
  })

  test('what does not exist for the caller is thrown', async () => {
    const session = await holdfast.sessions.getOrCreate({ key: 'model' })
    await expect(session.tools.call('no/such tool', {})).rejects.toMatchObject({ code: 'not_found' })
    await session.cancel()
    await expect(session.tools.call('exec', { command: 'true' })).rejects.toMatchObject({ code: 'session_closed' })
  })
})
