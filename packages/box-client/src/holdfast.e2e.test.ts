/** Against a real Holdfast on bubblewrap: commands, sessions, skills, processes and files, over a socket and over pipes. */
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { untilHolds } from '../../../test/servers/eventually.ts'
import { backoffMs } from './connector/backoff.ts'
import { isSkipped, startBoxServer, TOKEN, why } from './contract/holdfast-server.ts'
import type { BoxServerForTests } from './contract/holdfast-server.ts'
import { createBoxConnector, createBoxService } from './index.ts'
import type { BoxClock, BoxConnectorOptions, BoxService } from './index.ts'

const CONTEXT = { instance_uuid: 'inst-1', workspace_uuid: 'ws-A', placement_generation: 1 }
const QUERY = { query_id: 42, launcher_type: 'group', launcher_id: 7 }
const HOLDFAST = join(import.meta.dirname, '..', '..', 'cli', 'bin', 'holdfast.mjs')
/** Waits before the next attempt are short here; all else takes the time it takes. */
const BACKOFFS = new Set([0, 1, 2, 3, 4].map(backoffMs))
const HASTY: BoxClock = {
  now: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, BACKOFFS.has(ms) ? 50 : ms)
    return () => clearTimeout(timer)
  },
}

describe.skipIf(isSkipped)(`the client and a real Holdfast${why}`, () => {
  let server: BoxServerForTests
  beforeAll(async () => {
    server = await startBoxServer()
  })
  afterAll(async () => server.close())

  const TARGETS = {
    'a socket': () => ({ target: { endpoint: server.url }, controlToken: TOKEN }),
    pipes: () => ({ target: { command: process.execPath, args: [HOLDFAST, 'box', '-s', '--ws-control-port', '0'], env: server.env } }),
  } satisfies Record<string, () => Pick<BoxConnectorOptions, 'target' | 'controlToken'>>

  describe.each(Object.entries(TARGETS))('over %s', (_name, targetOf) => {
    let service: BoxService
    let connector: ReturnType<typeof createBoxConnector>
    beforeAll(async () => {
      connector = createBoxConnector({ instance: 'inst-1', clock: HASTY, settings: { backend: 'local' }, ...targetOf() })
      service = createBoxService({ connector, context: CONTEXT })
      await service.start()
      // `start` settles after the first attempt, and on a busy machine the server's start can take longer than that.
      await untilHolds(async () => expect(await service.availability()).toEqual({ available: true, reason: null }))
    })
    afterAll(async () => {
      await connector.client.shutdown()
      await service.close()
    })

    test('is available, and its status says what is behind it', async () => {
      expect(await service.availability()).toEqual({ available: true, reason: null })
      expect(await service.getStatus()).toMatchObject({
        available: true,
        enabled: true,
        backend: { name: 'bubblewrap' },
        session_ttl_sec: 300,
      })
    })

    test('runs commands in the session of the chat, where files stay', async () => {
      expect(await service.exec(QUERY, { command: 'echo kept > note; exit 3' })).toMatchObject({
        session_id: 'group_7',
        ok: false,
        exit_code: 3,
      })
      expect(await service.exec(QUERY, { command: 'cat note; seq 100000' })).toMatchObject({ ok: true, stdout_truncated: true })
      expect(await service.getSessions()).toMatchObject([{ session_id: 'group_7', backend_name: 'bubblewrap' }])
    })

    test('a failure comes back as its class', async () => {
      await expect(connector.client.getSession(CONTEXT, 'nobody')).rejects.toMatchObject({ boxClass: 'BoxSessionNotFoundError' })
      await expect(connector.client.exec(CONTEXT, { session_id: 'group_7', cmd: 'true', memory_mb: 64 })).rejects.toMatchObject({
        boxClass: 'BoxSessionConflictError',
      })
      await expect(connector.client.getProcess(CONTEXT, 'group_7', 'p')).rejects.toMatchObject({
        boxClass: 'BoxManagedProcessNotFoundError',
      })
    })

    test('skills are written, read and shown in the same sandbox', async () => {
      await service.skills.createSkill(CONTEXT, { name: 'demo', description: 'd', instructions: 'Do it.' })
      await service.skills.writeSkillFile(CONTEXT, 'demo', 'bin/run.sh', 'echo from the skill\n')
      expect(await service.skills.listSkills(CONTEXT)).toMatchObject([{ name: 'demo', instructions: 'Do it.' }])
      const { stdout } = await service.exec({ ...QUERY, skills: ['demo'] }, { command: 'cat note; sh .skills/demo/bin/run.sh' })
      expect(stdout).toBe('kept\nfrom the skill')
      await service.skills.deleteSkill(CONTEXT, 'demo')
    })

    test('files go in and come out byte for byte', async () => {
      const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7) % 256))
      const [path] = await service.putInbound(QUERY, [{ name: 'a file.bin', bytes }])
      await service.exec(QUERY, { command: `mkdir -p outbox/42 && cp '${path}' outbox/42/back.bin` })
      const { files } = await service.takeOutbound(QUERY)
      expect(files.map(({ name }) => name)).toEqual(['back.bin'])
      expect(Buffer.from(files[0]?.bytes ?? []).equals(bytes)).toBe(true)
    })
  })

  test('a process talks over its relay, and outlives a restart of the server, which the client notices and survives', async () => {
    const connector = createBoxConnector({ target: { endpoint: server.url }, controlToken: TOKEN, instance: 'inst-1', clock: HASTY })
    const service = createBoxService({ connector, context: CONTEXT })
    await service.start()
    await service.createSession({ session_id: 'mcp-shared', persistent: true })
    await service.startProcess('mcp-shared', { process_id: 'p1', command: 'cat' })
    const say = async (text: string) => {
      const { url, headers, protocol } = service.relayOf('mcp-shared', 'p1')
      const socket = new WebSocket(url, protocol, { headers })
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      socket
        .on('open', () => socket.send(text))
        .on('message', (data: Buffer) => resolve(data.toString('utf8')))
        .on('error', reject)
      const line = await promise
      // Who vanishes instead is told the line again: nobody knows that it arrived.
      socket.close()
      await once(socket, 'close')
      return line
    }
    expect(await say('{"a":1}')).toBe('{"a":1}\n')
    const { promise: again, resolve } = Promise.withResolvers<void>()
    let isLost = false
    connector.watch(({ type }) => {
      if (type === 'disconnected') isLost = true
      if (type === 'connected' && isLost) resolve()
    })
    await server.restart()
    await again
    expect(await connector.client.getProcess(CONTEXT, 'mcp-shared', 'p1')).toMatchObject({ status: 'running' })
    expect(await say('{"a":2}')).toBe('{"a":2}\n')
    await connector.client.shutdown()
    await service.close()
  })
})
