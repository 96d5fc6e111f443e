/**
 * One tool: what a model reads of it, who may use it, and what it does.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import type { ToolInput, ToolName, ToolResult } from '@holdfast/protocol'
import type { AuditRecord } from '../sessions/audit/audit-record.ts'
import type { OutputChunk } from '../guest/inside.ts'
import type { Caller, SessionVerb } from '../sessions/caller.ts'
import type { FileTarget } from '../sessions/session-files.ts'
import type { SessionRow } from '../store/tables/sessions.ts'

/** What a caller needs to be allowed to do to the session. */
export const TOOL_VERBS = {
  exec: 'exec',
  read: 'files',
  write: 'files',
  edit: 'files',
  glob: 'files',
  grep: 'files',
  activate: 'files',
  register_skill: 'files',
  preview: 'exec',
  process_start: 'exec',
  process_list: 'exec',
  process_logs: 'exec',
  process_stop: 'exec',
} as const satisfies Record<ToolName, SessionVerb>

/** Who the audit names for a change to skills. */
export type SkillWriter = Pick<AuditRecord, 'actor' | 'onBehalfOf' | 'requestId'>

/** A promise is back-pressure on the command. */
export type OnOutput = (chunk: OutputChunk) => void | Promise<void>

export interface ToolCall {
  readonly caller: Caller
  /** The session as it was when the caller was let in. */
  readonly session: SessionRow
  /** The same for operations on its files. */
  readonly target: FileTarget
  readonly signal: AbortSignal
  /** Throws `forbidden` unless the caller may change the skills of its tenant. */
  requireSkillWriter(): SkillWriter
  /** For a browser, to what listens on this port. */
  previewLink(port: number): Promise<{ readonly url: string; readonly expires_at: string }>
  /** Hears what a command prints while it runs. */
  readonly onOutput?: OnOutput | undefined
  /** Its model can look at images; without it a tool answers in text. */
  readonly showsImages?: boolean | undefined
}

export interface Tool<N extends ToolName = ToolName> {
  readonly name: N
  /** For the model. */
  readonly description: string
  /** May throw `ToolFailure`. */
  run(call: ToolCall, input: ToolInput<N>): Promise<ToolResult<N>>
}
