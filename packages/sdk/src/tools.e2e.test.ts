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

  test('what a command prints is heard while it runs, and the result is the same', async () => {
    const session = await holdfast.sessions.getOrCreate({ key: 'heard' })
    await session.commands.run('mkfifo go')
    const heard: string[] = []
    const onProgress = (text: string) => {
      heard.push(text)
      // The command waits for this: what it printed was heard before its end.
      if (heard.length === 1) void session.commands.run('echo > go')
    }
    const told = await session.tools.call('exec', { command: 'echo one; read line < go; echo two' }, { onProgress })
    expect(told).toMatchObject({ ok: true, stdout: 'one\ntwo\n' })
    expect(heard).toEqual(['one', 'two'])
    expect(await session.tools.call('exec', {}, { onProgress })).toMatchObject({ ok: false })
    await expect(session.tools.call('none', {}, { onProgress })).rejects.toMatchObject({ code: 'not_found' })
  })

  test('whoever leaves while a command prints ends it', async () => {
    const session = await holdfast.sessions.getOrCreate({ key: 'left' })
    await session.commands.run('mkfifo alive')
    // Ends when nobody of the command's tree is left to write.
    const ended = session.commands.run('cat alive')
    const leaving = new AbortController()
    const options = { signal: leaving.signal, onProgress: () => leaving.abort() }
    await expect(session.tools.call('exec', { command: 'exec 3> alive; echo up; sleep 1000' }, options)).rejects.toThrow()
    expect(await ended).toMatchObject({ status: 'completed' })
  })

  test('what does not exist for the caller is thrown', async () => {
    const session = await holdfast.sessions.getOrCreate({ key: 'model' })
    await expect(session.tools.call('no/such tool', {})).rejects.toMatchObject({ code: 'not_found' })
    await session.cancel()
    await expect(session.tools.call('exec', { command: 'true' })).rejects.toMatchObject({ code: 'session_closed' })
  })
})
