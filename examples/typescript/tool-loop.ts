/**
 * A loop that gives a model one tool, `exec`, in the sandbox of its conversation. The model here is a script: put yours in its place.
 *
 * What to copy is the `notice`: when the sandbox behind a conversation had to be replaced, the first result says in one sentence what
 * survived and what did not. A model that is not told goes on as if everything were there.
 *
 *     node examples/typescript/tool-loop.ts
 *
 * It prints:
 *
 *     user:  Remember that the answer is 42.
 *     model: exec {"command":"echo 42 | tee answer.txt /tmp/scratch"}
 *     tool:  {"exit_code":0,"stdout":"42\n","stderr":""}
 *     model: I wrote it down.
 *     (nobody writes for a while, and the sandbox is given up)
 *     user:  What was it?
 *     model: exec {"command":"cat answer.txt; test -e /tmp/scratch"}
 *     tool:  {"exit_code":1,"stdout":"42\n","stderr":"","notice":"This is a new sandbox: … Files in the workspace are intact, …"}
 *     model: It was 42. My scratch file went with the old sandbox; what is in the workspace stayed.
 */
import { Holdfast } from '@holdfast/sdk'
import type { Session } from '@holdfast/sdk'

interface ToolCall {
  readonly name: string
  readonly arguments: string
}

interface Message {
  readonly role: 'user' | 'model' | 'tool'
  readonly content: string
  readonly call?: ToolCall
}

type Model = (messages: readonly Message[], tools: readonly object[]) => Promise<Message>

/** What the model is offered, in the words it reads. */
const EXEC = {
  name: 'exec',
  description: 'Run a shell command in your sandbox. Files in /workspace stay. A notice in the result says when something else did not.',
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
}

async function callTool(session: Session, call: ToolCall): Promise<string> {
  const { command }: { readonly command: string } = JSON.parse(call.arguments)
  const { exitCode, status, stdout, stderr, session: after } = await session.commands.run(command, { timeoutMs: 30_000 })
  return JSON.stringify({
    ...{ exit_code: exitCode, stdout, stderr },
    ...(status === 'completed' ? {} : { status }),
    ...(after.notice === null ? {} : { notice: after.notice }),
  })
}

async function answer(model: Model, session: Session, messages: Message[], question: string): Promise<void> {
  const say = (message: Message) => {
    messages.push(message)
    const text = message.call === undefined ? message.content : `${message.call.name} ${message.call.arguments}`
    console.log(`${`${message.role}:`.padEnd(6)} ${text}`)
  }
  say({ role: 'user', content: question })
  for (;;) {
    const reply = await model(messages, [EXEC])
    say(reply)
    if (reply.call === undefined) return
    say({ role: 'tool', content: await callTool(session, reply.call) })
  }
}

/** Stands in for a model: it knows by heart what to say. */
const exec = (command: string): Message => ({ role: 'model', content: '', call: { name: 'exec', arguments: JSON.stringify({ command }) } })
const script: Message[] = [
  exec('echo 42 | tee answer.txt /tmp/scratch'),
  { role: 'model', content: 'I wrote it down.' },
  exec('cat answer.txt; test -e /tmp/scratch'),
  { role: 'model', content: 'It was 42. My scratch file went with the old sandbox; what is in the workspace stayed.' },
]
const scripted: Model = async () => script.shift() ?? { role: 'model', content: 'I have nothing more to say.' }

const conversation: Message[] = []
await using session = await new Holdfast().sessions.getOrCreate({ key: 'tool-loop', release: 'on-dispose' })
await answer(scripted, session, conversation, 'Remember that the answer is 42.')
console.log('(nobody writes for a while, and the sandbox is given up)')
await session.suspend() // as the server does by itself after five minutes without work
await answer(scripted, session, conversation, 'What was it?')
