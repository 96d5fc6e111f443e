/**
 * The official MCP client in a conversation's sandbox: with Holdfast's own tools, and with an MCP server that runs in the same box.
 *
 * The server is python/word_count_server.py. It runs beside the conversation's files and sees what the model wrote a moment before;
 * nothing of it runs on the host. Any MCP client does the same with the addresses below.
 *
 *     node examples/typescript/mcp-client.ts
 *
 * It prints:
 *
 *     holdfast offers: exec read write edit glob grep activate register_skill preview process_start process_list process_logs process_stop session_status session_reset words__count
 *     printed while it ran: one
 *     printed while it ran: two
 *     exec: {"exit_code":0,"stdout":"one\ntwo\n"}
 *     word-count 1.0.0 offers: count
 *     count: 4 words
 *     count: [Errno 2] No such file or directory: '/workspace/gone.txt' (it failed, and the model is told)
 *     the same through the one address: 4 words
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { Holdfast } from '@holdfast/sdk'

const holdfast = new Holdfast() // HOLDFAST_URL, HOLDFAST_API_KEY
await using session = await holdfast.sessions.getOrCreate({ key: 'mcp-example' })

// Whoever administers the tenant does this once; `holdfast mcp add` does the same.
await session.files.write('server.py', await readFile(join(import.meta.dirname, '../python/word_count_server.py')))
await holdfast.mcp.put('words', { command: 'python3', args: ['/workspace/server.py'] })

// The host of the model says which conversation it is; the model cannot.
const here = await clientOf('/mcp?session=mcp-example')
console.log('holdfast offers:', await namesOf(here))
const write = { path: 'note.txt', content: 'four words are here\n' }
await here.callTool({ name: 'write', arguments: write })
const onprogress = ({ message = '' }: { readonly message?: string | undefined }) => {
  for (const line of message.split('\n')) console.log('printed while it ran:', line)
}
const command = 'echo one; echo two'
const { structuredContent } = await here.callTool({ name: 'exec', arguments: { command } }, { onprogress })
console.log('exec:', JSON.stringify(structuredContent, ['exit_code', 'stdout']))

const words = await clientOf('/mcp/words?session=mcp-example')
const { name, version } = words.getServerVersion() ?? { name: '', version: '' }
console.log(name, version, 'offers:', await namesOf(words))
console.log('count:', textOf(await words.callTool({ name: 'count', arguments: { path: '/workspace/note.txt' } })))
const failed = await words.callTool({ name: 'count', arguments: { path: '/workspace/gone.txt' } })
console.log('count:', textOf(failed), failed.isError === true ? '(it failed, and the model is told)' : '')

const again = await here.callTool({ name: 'words__count', arguments: { path: '/workspace/note.txt' } })
console.log('the same through the one address:', textOf(again))

await Promise.all([here.close(), words.close()])
await holdfast.mcp.remove('words')
await session.release()

async function clientOf(address: string): Promise<Client> {
  const client = new Client({ name: 'example', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  const headers = { authorization: `Bearer ${process.env['HOLDFAST_API_KEY']}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(address, holdfast.url), { requestInit: { headers } }))
  return client
}

async function namesOf(client: Client): Promise<string> {
  return (await client.listTools()).tools.map((tool) => tool.name).join(' ')
}

function textOf({ content }: CallToolResult): string {
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('')
}
