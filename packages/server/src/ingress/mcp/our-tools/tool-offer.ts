/**
 * Tools that one MCP server shows together, wherever they come from.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Our own are one offer; tools of MCP servers in boxes can be another, under names of their own.
 */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { OutputChunk } from '../../../guest/inside.ts'
import type { Entered, Visit } from '../../rest/route.ts'
import type { CallUnderWay } from './calls-under-way.ts'
import type { Conversation } from './conversation.ts'

/** Who asks, and in which conversation: said by the host of the model, never by the model. */
export interface ToolVisit extends Entered, Pick<Visit, 'requestId' | 'recheck' | 'problemOf'> {
  readonly conversation: Conversation
  /** For a request that a later message of its client may cancel. */
  underWay(requestId: string | number): CallUnderWay
}

export interface ToolWatch {
  /** Ends the work. */
  readonly signal: AbortSignal
  /** Hears what a command prints while it runs; a promise is back-pressure on it. */
  readonly onOutput?: ((chunk: OutputChunk) => void | Promise<void>) | undefined
  /** Hears how far a tool of another server is, in that server's words. */
  readonly onProgress?: ((told: Readonly<Record<string, unknown>>) => void) | undefined
}

const ShownImage = z.object({
  ok: z.literal(true),
  image: z.object({ mime_type: z.string(), data: z.string() }),
  size_bytes: z.number(),
})

export interface ToolOffer {
  list(visit: ToolVisit): Promise<readonly Tool[]>
  /** `null`: it has no tool of this name. What a caller may hear of a failure is thrown as a `HoldfastError`. */
  call(visit: ToolVisit, name: string, input: unknown, watch: ToolWatch): Promise<CallToolResult> | null
}

/** What a tool tells, for programs and for models that read text only; an image as an image. */
export function toldResult(told: object): CallToolResult {
  const shown = ShownImage.safeParse(told)
  if (shown.success) {
    const { image, ...rest } = shown.data
    const facts = { ...rest, mime_type: image.mime_type }
    return {
      content: [
        { type: 'image', data: image.data, mimeType: image.mime_type },
        { type: 'text', text: JSON.stringify(facts) },
      ],
      structuredContent: facts,
    }
  }
  const failure = 'error' in told && 'ok' in told && told.ok === false ? String(told.error) : null
  return {
    content: [{ type: 'text', text: failure ?? JSON.stringify(told) }],
    structuredContent: { ...told },
    ...(failure === null ? {} : { isError: true }),
  }
}
