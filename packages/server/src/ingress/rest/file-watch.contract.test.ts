/** What changes in a sandbox's directory, as server-sent events over real HTTP. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { because } from '../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { readEvents } from './contract/event-reader.ts'
import { bubblewrapUnderTest, openRealServer } from './contract/real-server.ts'
import type { RealServer } from './contract/real-server.ts'

const under = await bubblewrapUnderTest()

describe.skipIf(under.skipReason !== null)(`a watch${because(under)}`, () => {
  let real: RealServer
  let session: string
  beforeAll(async () => {
    real = await openRealServer()
    session = await real.session('work')
  })
  afterAll(() => real.close())

  const sh = (command: string) => real.sh(session, command)
  const watch = (path: string, query = {}, signal?: AbortSignal) =>
    real.request(`/v1/sessions/${session}/files/watch?${new URLSearchParams({ path, ...query }).toString()}`, {
      headers: { accept: 'text/event-stream' },
      ...(signal === undefined ? {} : { signal }),
    })
  /** Everything up to the change of this path, as `type path`. */
  const changesUntil = async (response: Response, last: string) => {
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (text.includes(`"path":"${last}"}\n\n`)) break
    }
    return [...text.matchAll(/event: (\w+)\ndata: \{"path":"([^"]*)"\}/g)].map(([, type, path]) => `${type} ${path}`)
  }

  test('tells what is created, written, renamed, changed and removed, also below', async () => {
    await sh('mkdir -p seen/sub')
    // It is answered once nothing can be missed any more.
    const told = changesUntil(await watch('seen', { recursive: 'true' }), '/workspace/seen/last')
    await sh('cd seen; echo x > one; chmod 600 one; mv one two; rm two; echo y > sub/deep; mkdir new; touch last')
    expect(await told).toEqual(
      expect.arrayContaining([
        ...['create /workspace/seen/one', 'write /workspace/seen/one', 'chmod /workspace/seen/one', 'rename /workspace/seen/one'],
        ...['create /workspace/seen/two', 'remove /workspace/seen/two', 'create /workspace/seen/sub/deep', 'create /workspace/seen/new'],
      ]),
    )
  })

  test('of one directory says nothing of those below', async () => {
    await sh('mkdir -p flat/sub')
    const told = changesUntil(await watch('flat'), '/workspace/flat/last')
    await sh('cd flat; echo x > sub/hidden; touch last')
    expect((await told).join(' ')).not.toContain('hidden')
  })

  test('whose reader leaves is over inside too', async () => {
    const leaving = new AbortController()
    await readEvents(await watch('.', {}, leaving.signal), 1)
    leaving.abort()
    await eventually(() => sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "')).not.toContain('watch /workspace')
    expect(real.logged.join('')).not.toContain('request-failed')
  })

  test('ends with an error when the sandbox goes', async () => {
    const other = await real.session('short-lived')
    const response = await real.request(`/v1/sessions/${other}/files/watch?path=.`, { headers: { accept: 'text/event-stream' } })
    const events = readEvents(response)
    await real.request(`/v1/sessions/${other}/cancel`, { method: 'POST' })
    const last = (await events).at(-1)
    expect(last).toMatchObject({ event: 'error', data: { code: expect.stringMatching(/^(guest_unreachable|sandbox_gone)$/) } })
  })
})
