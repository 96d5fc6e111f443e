/** With a child process: its environment says whose it is, long messages go in helper lines, and no child is left behind. */
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createBoxConnector } from '../connector/connector.ts'
import type { BoxConnector } from '../connector/connector.ts'
import { manualClock } from '../contract/manual-clock.ts'

const CHILD = join(import.meta.dirname, '..', 'contract', 'stdio-child.mjs')

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('a Box server as a child', () => {
  const clock = manualClock()
  const made: BoxConnector[] = []
  const make = (behaviour: string, command = process.execPath) => {
    const target = { command, args: [CHILD, behaviour], env: { ...process.env, MARK: 'from the host' } }
    const connector = createBoxConnector({ target, instance: 'inst-1', clock, settings: { backend: 'local' } })
    made.push(connector)
    return connector
  }
  const lost = (connector: BoxConnector) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    connector.watch((event) => event.type === 'disconnected' && resolve(event.reason))
    return promise
  }
  const pidOf = async (connector: BoxConnector) => Number((await connector.client.health())['pid'])
  afterEach(async () => {
    for (const connector of made.splice(0)) await connector.close()
  })

  test('knows its instance, a token of its own, and the environment it was given', async () => {
    const connector = make('well')
    await connector.start()
    const { instance, token, mark } = await connector.client.health()
    expect({ instance, token, mark }).toEqual({ instance: 'inst-1', token: expect.stringMatching(/^[0-9a-f]{64}$/), mark: 'from the host' })
    expect(connector.relay).toEqual({
      url: 'http://127.0.0.1:5410',
      headers: { 'x-langbot-instance-id': 'inst-1', 'x-langbot-box-control-token': token },
    })
  })

  test('takes and gives long messages whole, many at once', async () => {
    const connector = make('large')
    await connector.start()
    const text = '界"\\😀'.repeat(50_000)
    const answers = await Promise.all(Array.from({ length: 3 }, () => connector.client.init({ text })))
    expect(answers).toHaveLength(3)
    expect((await connector.client.health())['text'] === text).toBe(true)
  })

  test('may print what is no message', async () => {
    const connector = make('noisy')
    await connector.start()
    expect(connector.state).toBe('connected')
  })

  test('that breaks the framing is given up, with the reason', async () => {
    const connector = make('breaks')
    await connector.start()
    const gone = lost(connector)
    await expect(connector.client.health()).rejects.toMatchObject({ boxClass: 'BoxRuntimeUnavailableError' })
    await expect(gone).resolves.toMatch(/broken lines/)
  })

  test('that dies is a disconnection, and the next attempt is another child', async () => {
    const connector = make('well')
    await connector.start()
    const first = await pidOf(connector)
    const gone = lost(connector)
    await expect(connector.client.shutdown()).rejects.toMatchObject({ boxClass: 'BoxRuntimeUnavailableError' })
    await expect(gone).resolves.toMatch(/ended \(exit code 3\)|closed its output/)
    await clock.armed(3000)
    expect(isAlive(first)).toBe(false)
    const { promise: connected, resolve } = Promise.withResolvers<void>()
    connector.watch(({ type }) => type === 'connected' && resolve())
    clock.pass(3000)
    await connected
    expect(await pidOf(connector)).not.toBe(first)
  })

  test('that cannot be started is a reason', async () => {
    const connector = make('well', '/no/such/program')
    await connector.start()
    expect(connector.reason).toMatch(/cannot start the Box server "\/no\/such\/program": .*ENOENT/)
  })

  test('ends when its input does', async () => {
    const connector = make('well')
    await connector.start()
    const pid = await pidOf(connector)
    await connector.close()
    expect(isAlive(pid)).toBe(false)
  })

  test('that does not want to end is asked after 2 s and made to after 2 more', async () => {
    const connector = make('stubborn')
    await connector.start()
    const pid = await pidOf(connector)
    const closed = connector.close()
    await clock.armed(2000)
    clock.pass(2000)
    await clock.armed(2000)
    expect(isAlive(pid)).toBe(true)
    clock.pass(2000)
    await closed
    expect(isAlive(pid)).toBe(false)
  })
})
