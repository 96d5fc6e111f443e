/** The MCP server of one visit: offers side by side, and failures that tell a client no more than they may. */
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { jsonLog } from '../../../telemetry/log.ts'
import { loggedProblem } from '../../rest/problems.ts'
import { toldResult } from './tool-offer.ts'
import type { ToolOffer, ToolVisit } from './tool-offer.ts'
import { toolServer } from './tool-server.ts'

const inputSchema = { type: 'object' as const }

function offerOf(name: string, run: () => Promise<object>): ToolOffer {
  return {
    list: async () => [{ name, inputSchema }],
    call: (_visit, asked) => (asked === name ? run().then(toldResult) : null),
  }
}

async function connected(offers: readonly ToolOffer[]) {
  const logged: string[] = []
  const log = jsonLog('info', (line) => logged.push(line))
  const visit = {
    recheck: async () => undefined,
    problemOf: (error: unknown) => loggedProblem(error, 'req_1', log),
    underWay: () => ({ signal: new AbortController().signal, end: () => undefined }),
  } as Partial<ToolVisit> as ToolVisit
  const [here, there] = InMemoryTransport.createLinkedPair()
  await toolServer({ release: '0.0.0', guidance: 'be good', offers }, visit).connect(there)
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(here)
  return { client, logged }
}

test('offers stand side by side, and each is asked for its own', async () => {
  const { client } = await connected([
    offerOf('one', async () => ({ ok: true, from: 1 })),
    offerOf('two', async () => ({ ok: true, from: 2 })),
  ])
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['one', 'two'])
  expect((await client.callTool({ name: 'two' })).structuredContent).toEqual({ ok: true, from: 2 })
  expect(client.getInstructions()).toBe('be good')
})

test('a refusal is a result with its code; a bug is one that says nothing, and the log has it', async () => {
  const refused = async () => {
    throw new HoldfastError('quota_exceeded', 'you have too many sessions')
  }
  const broken = async () => {
    throw new Error('secret detail')
  }
  const { client, logged } = await connected([offerOf('refused', refused), offerOf('broken', broken)])
  expect(await client.callTool({ name: 'refused' })).toMatchObject({
    isError: true,
    content: [{ text: 'you have too many sessions' }],
    structuredContent: { ok: false, code: 'quota_exceeded' },
  })
  const told = await client.callTool({ name: 'broken' })
  expect(told).toMatchObject({ isError: true, structuredContent: { code: 'internal' } })
  expect(JSON.stringify(told)).not.toContain('secret detail')
  expect(logged.join('\n')).toContain('secret detail')
})

test('a list that fails tells no more', async () => {
  const failing: ToolOffer = {
    list: async () => {
      throw new Error('secret detail')
    },
    call: () => null,
  }
  const { client, logged } = await connected([failing])
  const told = await client.listTools().then(String, String)
  expect(told).toContain('the server failed to handle this request')
  expect(told).not.toContain('secret detail')
  expect(logged.join('\n')).toContain('secret detail')
})
