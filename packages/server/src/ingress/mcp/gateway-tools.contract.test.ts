/** Tools of servers in boxes beside our own, over real servers of both eras. */
import { afterEach, describe, expect, test } from 'vitest'
import { HoldfastError } from '@holdfast/protocol'
import { PATIENCE_MS } from '../../../../../test/servers/patience.ts'
import { everythingLines } from '../../mcp/share/contract/child-lines.ts'
import { shareServer } from '../../mcp/share/shared-server.ts'
import type { SharedServer } from '../../mcp/share/shared-server.ts'
import { jsonLog } from '../../telemetry/log.ts'
import { serverTools } from './gateway-tools.ts'
import type { NamedServer } from './gateway-tools.ts'
import type { ToolVisit } from './our-tools/tool-offer.ts'

const opened: SharedServer[] = []
const log = jsonLog('error')
const visit = {} as ToolVisit
const watch = { signal: new AbortController().signal }

afterEach(() => {
  for (const server of opened.splice(0)) server.close()
})

function everything(era: 'legacy' | 'modern', tools = {}): NamedServer['open'] {
  const clientInfo = { name: 'test', version: '1' }
  const server = shareServer({ lines: everythingLines(era), clientInfo, clock: Date.now, log, onLog: () => {} })
  opened.push(server)
  return async () => ({ server, tools })
}

describe('tools of servers in boxes', () => {
  test('are listed and called under the names of their servers, and leave nothing', async () => {
    const servers = [
      { name: 'one', open: everything('legacy', { allow: ['echo', 'die'] }) },
      { name: 'one__two', open: everything('modern', { allow: ['echo'] }) },
    ]
    const offer = serverTools({ servers: async () => servers, log, listPatienceMs: PATIENCE_MS })
    expect((await offer.list(visit)).map(({ name }) => name).toSorted()).toEqual(['one__die', 'one__echo', 'one__two__echo'])
    expect(offer.call(visit, 'echo', {}, watch)).toBeNull()
    const said = (word: string) => ({ content: [{ type: 'text', text: word }] })
    expect(await offer.call(visit, 'one__echo', { said: 'a' }, watch)).toMatchObject(said('a'))
    expect(await offer.call(visit, 'one__two__echo', { said: 'b' }, watch)).toMatchObject(said('b'))
    await expect(offer.call(visit, 'one__big', { bytes: 1 }, watch)).rejects.toMatchObject({ code: 'mcp_tool_denied' })
    await expect(offer.call(visit, 'none__echo', {}, watch)).rejects.toMatchObject({ code: 'not_found' })
    await expect(offer.call(visit, 'one__die', { code: 1 }, watch)).rejects.toMatchObject({ code: 'mcp_server_exited' })
    expect(opened.map(({ counts }) => counts.clients)).toEqual([0, 0])
  })

  test('tell how far they are, to whoever asked for it', async () => {
    for (const era of ['legacy', 'modern'] as const) {
      const offer = serverTools({ servers: async () => [{ name: 'one', open: everything(era) }], log })
      const heard: unknown[] = []
      const listening = { ...watch, onProgress: (told: object) => void heard.push(told) }
      expect(await offer.call(visit, 'one__progress', { count: 3 }, listening)).toMatchObject({ content: [{ text: 'done' }] })
      expect(heard).toMatchObject([1, 2, 3].map((progress) => ({ progress, total: 3 })))
      expect(await offer.call(visit, 'one__progress', { count: 3 }, watch)).toMatchObject({ content: [{ text: 'nobody asked' }] })
    }
  })

  test('of a server that does not start are left out, and say why when they are called', async () => {
    const tried: (number | undefined)[] = []
    const open = async (_: AbortSignal, tries?: number) => {
      tried.push(tries)
      throw new HoldfastError('mcp_init_failed', 'it did not start (no database at hunter2)')
    }
    const servers = [
      { name: 'good', open: everything('legacy', { allow: ['echo'] }) },
      { name: 'broken', open },
    ]
    const logged: object[] = []
    const noting = { ...log, info: (event: string, fields?: object) => void logged.push({ event, ...fields }) }
    const offer = serverTools({ servers: async () => servers, log: noting, listPatienceMs: PATIENCE_MS })
    expect((await offer.list(visit)).map(({ name }) => name)).toEqual(['good__echo'])
    // A list is not worth waiting for all tries of one that does not start.
    expect(tried).toEqual([2])
    expect(logged).toContainEqual({ event: 'mcp-tools-left-out', server: 'broken', code: 'mcp_init_failed' })
    expect(JSON.stringify(logged)).not.toContain('hunter2')
    await expect(offer.call(visit, 'broken__echo', {}, watch)).rejects.toMatchObject({ code: 'mcp_init_failed' })
  })

  test('of a server that takes too long to start are left out', async () => {
    const logged: object[] = []
    const noting = { ...log, info: (event: string, fields?: object) => void logged.push({ event, ...fields }) }
    const slow = { name: 'slow', open: () => new Promise<never>(() => {}) }
    expect(await serverTools({ servers: async () => [slow], log: noting, listPatienceMs: 1 }).list(visit)).toEqual([])
    expect(logged).toEqual([{ event: 'mcp-tools-left-out', server: 'slow', code: 'timed_out' }])
  })
})
