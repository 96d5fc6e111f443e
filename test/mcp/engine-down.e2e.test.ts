/** The engine of the sandboxes goes away and comes back: an MCP server is refused with what to do, never run on the host, and then runs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { laboratoryOf } from './hard-laboratory.ts'
import { startHoldfast } from './holdfast-process.ts'
import type { HoldfastProcess } from './holdfast-process.ts'
import { modernCall, toolClient } from './mcp-clients.ts'

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'docker')) {
  describe.skipIf(under.skipReason !== null)(`an engine that goes away: ${under.kind}${because(under)}`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-engine-'))
    const engine = door(join(directory, 'engine.sock'), under.settings.dockerSocket ?? '')
    let holdfast: HoldfastProcess
    beforeAll(async () => {
      await engine.open()
      holdfast = await startHoldfast({ ...under, settings: { ...under.settings, dockerSocket: engine.path } })
    })
    afterAll(async () => {
      engine.close()
      await engine.open()
      await holdfast.close()
      engine.close()
      rmSync(directory, { recursive: true })
    })

    test('the server is refused with what to do and not run on the host, and runs when the engine is back', async () => {
      const laboratory = laboratoryOf(() => holdfast)
      const address = await laboratory.serve('down')
      engine.close()
      const answer = await modernCall(address, 'echo', { said: 'x' })
      const told = await answer.text()
      expect(told).toContain('"backend_unavailable"')
      expect(told).toContain('"phase":"box_unavailable"')
      expect(told).toContain('nothing is run outside')
      expect(holdfast.sandboxProcesses().filter((command) => command.includes('python3 -u'))).toEqual([])
      await engine.open()
      expect((await holdfast.ask('/v1/mcp/servers/down/restart', { method: 'POST', body: {} })).ok).toBe(true)
      const client = await toolClient('2026-07-28', address)
      expect(await client.call('echo', { said: 'back' })).toBe('back')
      await client.close()
    })
  })
}

/** A socket in front of the engine's own, which can be shut. */
function door(path: string, behind: string) {
  const open = new Set<Socket>()
  let server: Server | null = null
  return {
    path,
    async open() {
      server = createServer({ allowHalfOpen: true }, (client) => {
        const inner = connect({ path: behind, allowHalfOpen: true })
        for (const [from, to] of [
          [client, inner],
          [inner, client],
        ] as const) {
          open.add(from)
          from.on('error', () => to.destroy()).on('close', () => open.delete(from))
          from.pipe(to)
        }
      })
      server.listen(path)
      await once(server, 'listening')
    },
    close() {
      server?.close()
      for (const socket of open) socket.destroy()
    },
  }
}
