/**
 * A stdio MCP server with one tool that says what it is told, written as the official SDK shows it.
 */
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

serveStdio(() => {
  const server = new McpServer({ name: 'echo', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.registerTool('echo', { description: 'Says it again', inputSchema: z.object({ said: z.string() }) }, ({ said }) => ({
    content: [{ type: 'text', text: said }],
  }))
  return server
})
