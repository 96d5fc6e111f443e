/**
 * MCP servers in use: for which conversation one is started or called, what it offers, and what it says beside its answers.
 */
import { z } from 'zod'
import { ConversationShape, namesOneConversation, ONE_CONVERSATION } from '../conversation.ts'
import { SandboxWish } from '../sandbox-wish.ts'
import { McpRunView, McpServerView } from './server-view.ts'

const { pipeline, profile } = SandboxWish.shape
const Conversation = { ...ConversationShape, pipeline, profile } as const

/** A server that a tenant or everybody shares needs no conversation. */
function namesAtMostOne({ session, session_id, scope, variables, pipeline: asking }: Parameters<typeof namesOneConversation>[0]): boolean {
  const named = { session, session_id, scope, variables, pipeline: asking }
  return Object.values(named).every((value) => value === undefined) || namesOneConversation(named)
}

export const StartMcpServerBody = z.strictObject(Conversation).refine(namesAtMostOne, ONE_CONVERSATION)
export type StartMcpServerBody = z.output<typeof StartMcpServerBody>
export type StartMcpServerBodyInput = z.input<typeof StartMcpServerBody>

export const CallMcpToolBody = z
  .strictObject({
    ...Conversation,
    arguments: z
      .record(z.string(), z.unknown(), { error: 'must be an object' })
      .default({})
      .meta({ description: 'By the schema that the tool has in the list of tools.' }),
  })
  .refine(namesAtMostOne, ONE_CONVERSATION)
export type CallMcpToolBody = z.output<typeof CallMcpToolBody>
export type CallMcpToolBodyInput = z.input<typeof CallMcpToolBody>

export const McpToolName = z.string().min(1, { error: 'must not be empty' }).max(256, { error: 'must be at most 256 characters' })

/** As the server describes it. */
export const McpToolView = z.looseObject({ name: z.string() })
export type McpToolView = z.output<typeof McpToolView>

export const StartedMcpServer = z.object({ run: McpRunView, tools: z.array(McpToolView) })
export type StartedMcpServer = z.output<typeof StartedMcpServer>

/** While one is made ready. */
export const McpProgressEvent = z.object({ line: z.string() })
export type McpProgressEvent = z.output<typeof McpProgressEvent>

/** What the tool gave, as the server says it: `content`, and what else there is. */
export const McpToolResult = z.looseObject({})
export type McpToolResult = z.output<typeof McpToolResult>

export const McpServerList = z.object({ items: z.array(McpServerView) })
export type McpServerList = z.output<typeof McpServerList>

export const MCP_LOG_SOURCES = ['holdfast', 'stdout', 'stderr'] as const
export const McpLogLine = z.object({
  /** `null` where it is not known. */
  at: z.iso.datetime().nullable(),
  /** `stdout`: what was printed there and is no message. */
  source: z.enum(MCP_LOG_SOURCES),
  text: z.string(),
})
export type McpLogLine = z.output<typeof McpLogLine>

/** The newest lines of each of its processes that the caller may read. */
export const McpLogs = z.object({
  items: z.array(z.object({ scope_key: z.string(), session_id: z.string().nullable(), lines: z.array(McpLogLine) })),
})
export type McpLogs = z.output<typeof McpLogs>
