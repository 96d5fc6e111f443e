/** The connector keeps one connection, says why there is none, and waits as long as it should. */
import { BoxError } from '@holdfast/protocol/box'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../contract/manual-clock.ts'
import { memoryServer } from '../contract/memory-server.ts'
import type { MemoryServer } from '../contract/memory-server.ts'
import { CONTEXT } from '../contract/script.ts'
import { createBoxConnector } from './connector.ts'
import type { BoxConnector, BoxConnectorOptions, ConnectorEvent } from './connector.ts'

interface Stage {
  readonly server: MemoryServer
  readonly clock: ReturnType<typeof manualClock>
  readonly connector: BoxConnector
}

function stage(options: Partial<BoxConnectorOptions> = {}): Stage {
  const server = memoryServer()
  const clock = manualClock()
  const target = { endpoint: 'http://box' }
  const connector = createBoxConnector({ target, instance: 'inst-1', clock, transport: server.open, random: () => 0.5, ...options })
  return { server, clock, connector }
}

function eventOf(connector: BoxConnector, type: ConnectorEvent['type']): Promise<ConnectorEvent> {
  const { promise, resolve } = Promise.withResolvers<ConnectorEvent>()
  const stop = connector.watch((event) => {
    if (event.type !== type) return
    stop()
    resolve(event)
  })
  return promise
}

describe('the handshake', () => {
  test('is a ping and the settings without their runtime, numbered upwards', async () => {
    const { server, connector } = stage({ settings: { backend: 'docker', runtime: { endpoint: 'x' }, local: { profile: 'default' } } })
    await connector.start()
    expect(connector).toMatchObject({ state: 'connected', isConnected: true, reason: null })
    expect(server.script.asked).toEqual([
      { seq_id: 50_000, action: '__ping', data: {} },
      { seq_id: 50_001, action: 'box_init', data: { backend: 'docker', local: { profile: 'default' } } },
    ])
    await connector.close()
  })

  test('leaves box_init out when there is nothing to say', async () => {
    const { server, connector } = stage({ settings: { runtime: { endpoint: 'x' } } })
    await connector.start()
    expect(server.script.actions()).toEqual(['__ping'])
    await connector.close()
  })

  test('that is refused is no connection, and closes what it opened', async () => {
    const { server, connector } = stage({ settings: { backend: 'docker' } })
    server.script.on('box_init', { fails: 'ValueError: limits must be an object' })
    await connector.start()
    expect(connector).toMatchObject({ state: 'waiting', isConnected: false, reason: 'ValueError: limits must be an object' })
    expect(server.live).toBe(0)
    await connector.close()
  })

  test('that hangs is given up after 30 s, wherever it hangs', async () => {
    const { server, clock, connector } = stage()
    server.hang()
    const started = connector.start()
    await clock.armed(30_000)
    clock.pass(30_000)
    await started
    expect(connector.reason).toContain('did not finish the handshake within 30 s')
    expect(server.live).toBe(0)
    await connector.close()
  })

  test('whose server goes away meanwhile fails at once', async () => {
    const { server, clock, connector } = stage()
    server.script.on('__ping', 'silence')
    const started = connector.start()
    await server.script.question('__ping')
    server.drop('the server was killed')
    await started
    expect(connector.reason).toBe('the connection to the Box server is lost: the server was killed')
    expect(clock.now()).toBe(manualClock().now())
    await connector.close()
  })

  test('whose ping is not answered within 15 s fails', async () => {
    const { server, clock, connector } = stage()
    server.script.on('__ping', 'silence')
    const started = connector.start()
    await clock.armed(15_000)
    clock.pass(15_000)
    await started
    expect(connector.reason).toBe('__ping was not answered within 15 s')
    expect(server.live).toBe(0)
    await connector.close()
  })
})

describe('a disabled connector', () => {
  test('opens nothing, ever, and refuses calls with the reason', async () => {
    const { server, clock, connector } = stage({ enabled: false, settings: { backend: 'docker' } })
    await connector.start()
    expect(connector).toMatchObject({ state: 'disabled', isEnabled: false, isConnected: false })
    await expect(connector.client.status(CONTEXT)).rejects.toMatchObject({ boxClass: 'BoxRuntimeUnavailableError' })
    await expect(connector.client.status(CONTEXT)).rejects.toThrow('disabled')
    expect({ opened: server.opened, waits: clock.waits }).toEqual({ opened: 0, waits: [] })
    await connector.close()
    expect(connector.state).toBe('disabled')
  })
})

describe('reconnecting', () => {
  test('a first attempt that fails is not thrown, and the waits are 3, 6, 12, 24, 48, 60, 60 seconds', async () => {
    const { server, clock, connector } = stage()
    server.refuse('connection refused')
    await connector.start()
    expect(connector).toMatchObject({ state: 'waiting', reason: 'connection refused' })
    for (const [index, seconds] of [3, 6, 12, 24, 48, 60, 60].entries()) {
      await clock.armed(seconds * 1000)
      expect(clock.waits).toEqual([seconds * 1000])
      clock.pass(seconds * 1000 - 1)
      expect(server.opened).toBe(index + 1)
      clock.pass(1)
      await server.attempt(index + 2)
    }
    await connector.close()
  })

  test('begins with 3 s again after a connection, and sends the settings each time', async () => {
    const { server, clock, connector } = stage({ settings: { backend: 'docker' } })
    server.refuse('down')
    await connector.start()
    clock.pass(3000)
    await clock.armed(6000)
    server.refuse(null)
    const connected = eventOf(connector, 'connected')
    clock.pass(6000)
    await connected
    for (let nth = 1; nth <= 3; nth++) {
      server.drop('the server went away')
      await clock.armed(3000)
      expect(connector).toMatchObject({ state: 'waiting', reason: 'the server went away' })
      const again = eventOf(connector, 'connected')
      clock.pass(3000)
      await again
      expect(server.script.actions().filter((action) => action === 'box_init')).toHaveLength(nth + 1)
    }
    await connector.close()
  })

  test('never happens twice at once, however often it is started and dropped', async () => {
    const { server, clock, connector } = stage()
    await Promise.all([connector.start(), connector.start(), connector.start()])
    expect(server).toMatchObject({ opened: 1, live: 1 })
    for (let round = 2; round <= 5; round++) {
      server.drop('gone')
      server.drop('gone again')
      await Promise.all([clock.armed(3000), connector.start(), connector.start()])
      expect(clock.waits).toEqual([3000])
      const again = eventOf(connector, 'connected')
      clock.pass(3000)
      await again
      expect(server).toMatchObject({ opened: round, live: 1 })
    }
    await connector.close()
  })

  test('is not set off by a listener that throws', async () => {
    const warned: string[] = []
    const { server, connector } = stage({ log: { info: () => {}, warn: (message) => warned.push(message) } })
    connector.watch(() => {
      throw new Error('reloading skills failed')
    })
    await connector.start()
    await connector.client.ping()
    expect(connector.state).toBe('connected')
    expect({ opened: server.opened, warned }).toEqual({ opened: 1, warned: ['box: a listener failed'] })
    await connector.close()
  })

  test('fails what was under way at once, with the reason', async () => {
    const { server, connector } = stage()
    server.script.on('box_exec', 'silence')
    await connector.start()
    const call = connector.client.exec(CONTEXT, { session_id: 's1', cmd: 'sleep 100' })
    await server.script.question('box_exec')
    server.drop('the server was killed')
    await expect(call).rejects.toThrow('the server was killed')
    await expect(connector.client.ping()).rejects.toMatchObject({ boxClass: 'BoxRuntimeUnavailableError' })
    await connector.close()
  })
})

describe('the heartbeat', () => {
  async function beat({ clock, server }: Stage, nth: number): Promise<void> {
    await clock.armed(20_000)
    clock.pass(20_000)
    await server.script.question('__ping', nth + 1)
  }

  test('asks every 20 s, and tells of every answer', async () => {
    const all = stage()
    await all.connector.start()
    for (let nth = 1; nth <= 3; nth++) {
      const answered = eventOf(all.connector, 'heartbeat')
      await beat(all, nth)
      await answered
    }
    expect(all.connector.state).toBe('connected')
    await all.connector.close()
  })

  test('gives the connection up after three failures in a row, not after two', async () => {
    const all = stage()
    await all.connector.start()
    const miss = async (nth: number) => {
      await beat(all, nth)
      await all.clock.armed(15_000)
      all.clock.pass(15_000)
    }
    all.server.script.on('__ping', 'silence')
    await miss(1)
    await miss(2)
    all.server.script.on('__ping', { data: {} })
    const answered = eventOf(all.connector, 'heartbeat')
    await beat(all, 3)
    await answered
    all.server.script.on('__ping', 'silence')
    await miss(4)
    await miss(5)
    expect(all.connector.state).toBe('connected')
    const lost = eventOf(all.connector, 'disconnected')
    await miss(6)
    await expect(lost).resolves.toMatchObject({ reason: 'no answer to 3 heartbeats in a row' })
    await all.clock.armed(3000)
    expect(all.server.live).toBe(0)
    await all.connector.close()
  })

  test('takes a refusal for an answer: a busy server is alive', async () => {
    const all = stage()
    await all.connector.start()
    all.server.script.on('__ping', { fails: 'this connection is busy' })
    for (let nth = 1; nth <= 4; nth++) {
      const answered = eventOf(all.connector, 'heartbeat')
      await beat(all, nth)
      await answered
    }
    expect(all.connector.state).toBe('connected')
    await all.connector.close()
  })
})

describe('closing', () => {
  test('ends a connection, its heartbeat and the loop, and twice is fine', async () => {
    const { server, clock, connector } = stage()
    await connector.start()
    await connector.close()
    await connector.close()
    await connector.start()
    expect(connector.state).toBe('closed')
    expect({ live: server.live, opened: server.opened, waits: clock.waits }).toEqual({ live: 0, opened: 1, waits: [] })
  })

  test('ends the waiting for the next attempt', async () => {
    const { server, clock, connector } = stage()
    server.refuse('down')
    await connector.start()
    await clock.armed(3000)
    await connector.close()
    expect({ opened: server.opened, waits: clock.waits }).toEqual({ opened: 1, waits: [] })
  })

  test('ends an attempt that hangs', async () => {
    const { server, clock, connector } = stage()
    server.hang()
    const started = connector.start()
    await server.attempt(1)
    await connector.close()
    await started
    expect({ live: server.live, waits: clock.waits }).toEqual({ live: 0, waits: [] })
  })
})

test('an instance or token that no server takes is refused before anything is opened', () => {
  expect(() => stage({ instance: ' bad' })).toThrow(BoxError)
  expect(() => stage({ controlToken: 'short' })).toThrow('controlToken must be at least 32 characters without white space')
})
