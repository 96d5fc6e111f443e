/**
 * A chat model that speaks OpenAI's protocol, with all tools of its sandbox: the schemas come from the server, the calls go back to it.
 *
 * The model here is a small local server that plays a script, so that this runs without a network. Put the address and the name of yours
 * in its place; nothing else changes.
 *
 *     node examples/typescript/function-calling.ts
 *
 * It prints:
 *
 *     offered: exec read write edit glob grep activate register_skill preview process_start process_list process_logs process_stop
 *     user:  Which of our prices is wrong?
 *     model: write {"path":"prices.csv","content":"apple,1.20\npear,-3\nplum,2.10\n"}
 *     tool:  {"ok":true,"path":"prices.csv"}
 *     model: grep {"pattern":",-\\d","path":"prices.csv"}
 *     tool:  {"ok":true,"matches":[{"file":"/workspace/prices.csv","line":2,"content":"pear,-3"}],"total":1,…}
 *     model: edit {"path":"prices.csv","old_string":"pear,0","new_string":"pear,3"}
 *     tool:  {"ok":false,"error":"old_string is not in the file; read it again and copy the passage exactly"}
 *     model: edit {"path":"prices.csv","old_string":"pear,-3","new_string":"pear,3"}
 *     tool:  {"ok":true,"path":"prices.csv"}
 *     model: The price of pears was -3; I made it 3.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Holdfast } from '@holdfast/sdk'

interface ToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | null
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
}

/** A model may ask for tools for ever; a host does not let it. */
const MAX_ROUNDS = 128

const model = await startScriptedModel()
const holdfast = new Holdfast()
await using session = await holdfast.sessions.getOrCreate({ key: 'function-calling', release: 'on-dispose' })
const tools = await holdfast.tools.functions()
console.log(`offered: ${tools.map(({ function: { name } }) => name).join(' ')}`)

const question = 'Which of our prices is wrong?'
console.log(`user:  ${question}`)
const messages: Message[] = [
  { role: 'system', content: await holdfast.tools.guidance() },
  { role: 'user', content: question },
]
for (let round = 1; round <= MAX_ROUNDS; round += 1) {
  const reply = await complete({ model: 'scripted', messages, tools })
  messages.push(reply)
  if (reply.tool_calls === undefined) {
    console.log(`model: ${reply.content}`)
    break
  }
  for (const { id, function: asked } of reply.tool_calls) {
    console.log(`model: ${asked.name} ${asked.arguments}`)
    // What the model wrote, as it is: what is wrong with it comes back as a result.
    const content = JSON.stringify(await session.tools.call(asked.name, asked.arguments))
    console.log(`tool:  ${content}`)
    messages.push({ role: 'tool', tool_call_id: id, content })
  }
}
model.close()

async function complete(body: object): Promise<Message> {
  const response = await fetch(`${model.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify(body),
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a model's server is taken at its word here
  const { choices } = (await response.json()) as { readonly choices: readonly { readonly message: Message }[] }
  const [first] = choices
  if (first === undefined) throw new Error('the model said nothing')
  return first.message
}

/** Stands in for a model: it knows by heart what to say. */
async function startScriptedModel() {
  const asks = (name: string, input: object, index: number): Message => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call_${index}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
  })
  const script: Message[] = [
    asks('write', { path: 'prices.csv', content: 'apple,1.20\npear,-3\nplum,2.10\n' }, 1),
    asks('grep', { pattern: String.raw`,-\d`, path: 'prices.csv' }, 2),
    asks('edit', { path: 'prices.csv', old_string: 'pear,0', new_string: 'pear,3' }, 3),
    asks('edit', { path: 'prices.csv', old_string: 'pear,-3', new_string: 'pear,3' }, 4),
    { role: 'assistant', content: 'The price of pears was -3; I made it 3.' },
  ]
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const message = script.shift() ?? { role: 'assistant', content: 'I have nothing more to say.' }
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ choices: [{ index: 0, message }] }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on TCP has such an address
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
