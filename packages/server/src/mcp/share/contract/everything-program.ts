/**
 * A stdio MCP server for the tests, written with the official SDK: `legacy` speaks up to 2025-11-25, `modern` 2026-07-28 too.
 *
 * Its tools do one thing each that a gateway must survive; `seen` tells what has reached it so far.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { McpServer, inputRequired } from '@modelcontextprotocol/server'
import type { ServerContext } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const seen = { starts: 0, cancelled: 0, subscribed: [] as string[], unsubscribed: [] as string[], level: 'unset', levels: 0 }

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] })

function everything(): McpServer {
  const mcp = new McpServer(
    { name: 'everything', version: '1.2.3' },
    {
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} },
      instructions: 'Ask for anything.',
    },
  )
  const { server } = mcp
  server.oninitialized = () => void (seen.starts += 1)
  const tool = (name: string, shape: z.ZodRawShape, run: (given: Record<string, unknown>, ctx: ServerContext) => unknown) =>
    mcp.registerTool(name, { description: `The tool ${name}`, inputSchema: z.object(shape) }, (async (
      given: Record<string, unknown>,
      ctx: ServerContext,
    ) => run(given, ctx)) as never)

  tool('echo', { said: z.string() }, ({ said }) => text(String(said)))
  tool('big', { bytes: z.number() }, ({ bytes }) => text('x'.repeat(Number(bytes))))
  tool('seen', {}, () => text(JSON.stringify(seen)))
  tool('die', { code: z.number() }, ({ code }) => process.exit(Number(code)))
  tool('garbage', {}, () => {
    process.stdout.write('this is no message\n{"nor":"this"}\n')
    return text('printed')
  })
  tool('notify', { count: z.number() }, async ({ count }) => {
    for (let n = 0; n < Number(count); n += 1)
      await server.notification({ method: 'notifications/message', params: { level: 'info', data: { n } } })
    return text('told')
  })
  tool('touch', { uri: z.string() }, async ({ uri }) => {
    await server.sendResourceUpdated({ uri: String(uri) })
    return text('touched')
  })
  tool('changed', {}, async () => {
    await server.sendToolListChanged()
    return text('changed')
  })
  tool('progress', { count: z.number() }, async ({ count }, { mcpReq }) => {
    // oxlint-disable-next-line no-underscore-dangle -- named so by the protocol
    const progressToken = mcpReq._meta?.progressToken
    if (progressToken === undefined) return text('nobody asked')
    for (let n = 1; n <= Number(count); n += 1)
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: n, total: Number(count) } })
    return text('done')
  })
  tool('hang', {}, async (_given, { mcpReq }) => {
    await pause(60_000, undefined, { signal: mcpReq.signal }).catch(() => (seen.cancelled += 1))
    return text('over')
  })
  tool('ask', {}, async (_given, { mcpReq }) => {
    const params = { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'who are you?' } }], maxTokens: 10 }
    if (process.argv[2] === 'legacy') {
      const reply = await mcpReq.send({ method: 'sampling/createMessage', params }).catch((error: unknown) => ({ failed: String(error) }))
      return text(JSON.stringify(reply))
    }
    const { inputResponses } = mcpReq
    if (inputResponses === undefined) return inputRequired({ inputRequests: { who: { method: 'sampling/createMessage', params } } })
    return text(JSON.stringify(inputResponses))
  })
  mcp.registerResource('note', 'note://one', {}, () => ({ contents: [{ uri: 'note://one', text: 'one' }] }))
  server.setRequestHandler('resources/subscribe', ({ params }) => {
    seen.subscribed.push(params.uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    seen.unsubscribed.push(params.uri)
    return {}
  })
  server.setRequestHandler('logging/setLevel', ({ params }) => {
    seen.level = params.level
    seen.levels += 1
    return {}
  })
  return mcp
}

if (process.argv[2] === 'legacy') await everything().connect(new StdioServerTransport())
else serveStdio(() => everything())
