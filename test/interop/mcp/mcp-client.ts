/**
 * What the tests ask of every published MCP client, in whatever language it is written: a method of the protocol goes in, and the result
 * comes out as it is on the wire.
 */
import { z } from 'zod'

export type Method = 'tools/list' | 'tools/call' | 'resources/list' | 'resources/read' | 'prompts/list' | 'prompts/get'
type Values = Readonly<Record<string, unknown>>
export type OnProgress = (progress: Progress) => void
export type Ask = (method: Method, params?: Values, onProgress?: OnProgress) => Promise<unknown>

export interface Progress {
  readonly progress: number
  readonly total?: number | null | undefined
}

export interface McpClient {
  tools(): Promise<readonly string[]>
  /** The text of the result; one that is an error is thrown. */
  call(tool: string, args?: Values, onProgress?: OnProgress): Promise<string>
  /** Their addresses. */
  resources(): Promise<readonly string[]>
  read(uri: string): Promise<string>
  prompts(): Promise<readonly string[]>
  prompt(name: string, args?: Readonly<Record<string, string>>): Promise<string>
  close(): Promise<void>
}

export interface PublishedMcpClient {
  /** With the revision of the protocol that it speaks. */
  readonly name: string
  /** One that is a program for each request prints the result alone. */
  readonly hearsProgress: boolean
  open(url: string, headers: Readonly<Record<string, string>>): Promise<McpClient>
}

const Named = z.object({ name: z.string() })
const Text = z.object({ text: z.string().default('') })
const Tools = z.object({ tools: z.array(Named) })
const ToolResult = z.object({ content: z.array(Text), isError: z.boolean().default(false) })
const Resources = z.object({ resources: z.array(z.object({ uri: z.string() })) })
const Resource = z.object({ contents: z.array(Text) })
const Prompts = z.object({ prompts: z.array(Named) })
const Prompt = z.object({ messages: z.array(z.object({ content: Text })) })

export function clientOver(ask: Ask, close: () => Promise<void>): McpClient {
  return {
    tools: async () => Tools.parse(await ask('tools/list')).tools.map(({ name }) => name),
    async call(name, args = {}, onProgress) {
      const { content, isError } = ToolResult.parse(await ask('tools/call', { name, arguments: args }, onProgress))
      if (isError) throw new Error(`${name} failed: ${joined(content)}`)
      return joined(content)
    },
    resources: async () => Resources.parse(await ask('resources/list')).resources.map(({ uri }) => uri),
    read: async (uri) => joined(Resource.parse(await ask('resources/read', { uri })).contents),
    prompts: async () => Prompts.parse(await ask('prompts/list')).prompts.map(({ name }) => name),
    prompt: async (name, args = {}) =>
      joined(Prompt.parse(await ask('prompts/get', { name, arguments: args })).messages.map(({ content }) => content)),
    close,
  }
}

function joined(parts: readonly { readonly text: string }[]): string {
  return parts.map(({ text }) => text).join('\n')
}
