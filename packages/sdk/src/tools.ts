/**
 * What a model is offered: the tools of a server as schemas, and the calls of one session's model.
 *
 * Names in schemas, inputs and results are left as they are on the wire: they are the model's.
 */
import type { ToolCallBodyInput, ToolList, ToolProgressEvent } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { parsed as parsedEvent } from './exec.ts'
import { errorOfEvent } from './transport/problem.ts'
import { unreachable } from './transport/transport.ts'
import type { Transport } from './transport/transport.ts'

/** Beyond the tool's own time: for a sandbox that is made first. */
const PREPARATION_MS = 120_000

export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON schema. */
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** As the `tools` of a chat completion of OpenAI and those who speak the same. */
export interface FunctionTool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description: string; readonly parameters: Record<string, unknown> }
}

/** `ok: false` with an `error` when the tool could not do it; the model is to read it. */
export interface ToolResult {
  readonly ok: boolean
  readonly error?: string
  readonly [field: string]: unknown
}

export interface Tools {
  list(options?: CallOptions): Promise<readonly Tool[]>
  /** The same as functions, to hand to a model as they are. */
  functions(options?: CallOptions): Promise<readonly FunctionTool[]>
  /** For the system message of a model that has them. */
  guidance(options?: CallOptions): Promise<string>
}

export interface SessionTools {
  /**
   * What the model asked for, done in this session. `input` is an object, or its JSON as models write it. Only who may not, or a server
   * that is not reached, throws.
   */
  call(name: string, input: object | string, options?: ToolCallOptions): Promise<ToolResult>
}

export interface ToolCallOptions extends CallOptions {
  /** Hears the lines that a command prints while it runs: at most 1,000 times, 1,000 characters each. The result is the same. */
  readonly onProgress?: ((text: string) => void | Promise<void>) | undefined
  /** The model is shown images: `read` gives a picture as `image` with its `mime_type` and its `data` in base64. Without it pictures are refused. */
  readonly images?: boolean | undefined
}

export function createTools(transport: Transport): Tools {
  const ask = (format: 'plain' | 'openai', options: CallOptions) =>
    transport.json<ToolList>({ path: '/v1/tools', query: { format }, ...callOf(options) })
  return {
    async list(options = {}) {
      const { tools } = await ask('plain', options)
      return tools
        .filter((tool) => 'input_schema' in tool)
        .map(({ name, description, input_schema: inputSchema }) => ({ name, description, inputSchema }))
    },
    async functions(options = {}) {
      const { tools } = await ask('openai', options)
      return tools.filter((tool) => 'function' in tool)
    },
    guidance: async (options = {}) => (await ask('plain', options)).guidance,
  }
}

export function createSessionTools({ transport, sessionId }: { readonly transport: Transport; readonly sessionId: string }): SessionTools {
  return {
    async call(name, input, { signal, timeoutMs, onProgress, images } = {}) {
      const parsed = typeof input === 'string' ? parsedInput(input) : { value: input }
      if ('error' in parsed) return { ok: false, error: parsed.error }
      const json: ToolCallBodyInput = { session_id: sessionId, input: parsed.value, ...(images === undefined ? {} : { images }) }
      const waitMs = timeoutMs ?? PREPARATION_MS + ownTimeMs(parsed.value)
      const request = { method: 'POST', path: `/v1/tools/${encodeURIComponent(name)}`, json, signal, timeoutMs: waitMs } as const
      if (onProgress === undefined) return transport.json<ToolResult>(request)
      const answer = await transport.open({ ...request, headers: { accept: 'text/event-stream' }, isOnce: true })
      try {
        for await (const { event, data } of answer.events()) {
          if (event === 'progress') await onProgress(parsedEvent<ToolProgressEvent>(data).text)
          else if (event === 'result') return parsedEvent<ToolResult>(data)
          else if (event === 'error') throw errorOfEvent(data)
        }
      } finally {
        answer.close()
      }
      throw unreachable(transport.url, new Error('the stream ended before the tool did'))
    },
  }
}

/** A model that calls a tool without arguments may write nothing at all. */
function parsedInput(text: string): { readonly value: unknown } | { readonly error: string } {
  if (text.trim() === '') return { value: {} }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { error: `the arguments are not valid JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** How long the model gives it. */
function ownTimeMs(input: unknown): number {
  const seconds: unknown = typeof input === 'object' && input !== null && 'timeout_sec' in input ? input.timeout_sec : undefined
  return typeof seconds === 'number' && seconds > 0 && seconds <= 3_600 ? seconds * 1000 : 120_000
}
