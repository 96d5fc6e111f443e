/**
 * Tools on the wire: what a model is offered, what it may say, and what it is told.
 *
 * The inputs are what a model reads, as JSON schemas made from these. Which session it works in is for its host to say, never for the
 * model: neither the session, nor paths of the host, nor how they are mounted are among them.
 */
import { z } from 'zod'
import { DEFAULT_WORKSPACE, SandboxWish } from './sandbox-wish.ts'
import { FilePath } from './files.ts'
import { ConversationShape, namesOneConversation, ONE_CONVERSATION, shapesNoOther } from './conversation.ts'
import { InnerPort } from './previews.ts'
import { ProcessName } from './processes.ts'
import { EXECUTION_STATUSES } from './session-words.ts'

export const TOOL_NAMES = [
  'exec',
  'read',
  'write',
  'edit',
  'glob',
  'grep',
  'activate',
  'register_skill',
  'preview',
  'process_start',
  'process_list',
  'process_logs',
  'process_stop',
] as const
export type ToolName = (typeof TOOL_NAMES)[number]

/** Of each stream of a command, in characters, unless the setting says otherwise. */
export const TOOL_OUTPUT_CHARACTERS = 30_000
/** Of everything else that a tool tells. */
export const TOOL_RESULT_BYTES = 51_200
export const TOOL_READ_LINES = 2_000
export const MAXIMUM_TOOL_READ_LINES = 10_000
export const TOOL_PATTERN_CHARACTERS = 1_024
export const TOOL_TIMEOUT_SECONDS = 120

const NUL_MESSAGE = 'must not contain a NUL character'
const withoutNul = (text: string) => !text.includes('\0')
const text = (description: string) => z.string({ error: 'must be text' }).refine(withoutNul, NUL_MESSAGE).meta({ description })
const path = (description: string) => FilePath.meta({ description })
const pattern = (description: string) =>
  z
    .string({ error: 'must be a pattern' })
    .min(1, { error: 'must not be empty' })
    .max(TOOL_PATTERN_CHARACTERS, { error: `must be at most ${TOOL_PATTERN_CHARACTERS} characters` })
    .refine(withoutNul, NUL_MESSAGE)
    .meta({ description })
const whole = (least: number, most?: number) => {
  const number = z.int({ error: 'must be a whole number' }).min(least, { error: `must be at least ${least}` })
  return most === undefined ? number : number.max(most, { error: `must be at most ${most}` })
}
const encoding = z.enum(['text', 'base64'], { error: 'must be "text" or "base64"' }).default('text')

export const ExecToolInput = z.strictObject({
  command: text('The command, run by /bin/sh.').refine((command) => command !== '', { error: 'must not be empty' }),
  workdir: path('The directory to run it in.').default(DEFAULT_WORKSPACE),
  timeout_sec: whole(1).default(TOOL_TIMEOUT_SECONDS).meta({ description: 'After so many seconds it is ended.' }),
  env: z
    .record(z.string().regex(/^[^=\0]+$/, { error: 'a name must not be empty or contain "="' }), z.string().refine(withoutNul, NUL_MESSAGE))
    .default({})
    .meta({ description: 'More environment variables.' }),
  description: z.string().max(1_000).optional().meta({ description: 'What the command is for, in a few words.' }),
})

export const ReadToolInput = z.strictObject({
  path: path('The file, or a directory to list.'),
  offset: whole(1).default(1).meta({ description: 'The first line, counted from 1.' }),
  limit: whole(1, MAXIMUM_TOOL_READ_LINES).default(TOOL_READ_LINES).meta({ description: 'How many lines at most.' }),
  max_bytes: whole(1, TOOL_RESULT_BYTES).default(TOOL_RESULT_BYTES).meta({ description: 'How many bytes at most.' }),
  encoding: encoding.meta({ description: 'base64: bytes from byte_offset on, for what is not text.' }),
  byte_offset: whole(0).default(0).meta({ description: 'With base64: the first byte, counted from 0.' }),
})

export const WriteToolInput = z.strictObject({
  path: path('The file. Directories above it are made.'),
  content: z.string({ error: 'must be text' }).meta({ description: 'All of it, as text or in base64.' }),
  encoding: encoding.meta({ description: 'Of the content; base64 for what is not text.' }),
  mode: z
    .enum(['overwrite', 'append'], { error: 'must be "overwrite" or "append"' })
    .default('overwrite')
    .meta({ description: 'In place of what is there, or after it.' }),
})

export const EditToolInput = z.strictObject({
  path: path('The file.'),
  old_string: z
    .string({ error: 'must be text' })
    .min(1, { error: 'must not be empty' })
    .meta({ description: 'What is replaced, exactly as it stands there, and only once in the file.' }),
  new_string: z.string({ error: 'must be text' }).meta({ description: 'What stands there afterwards.' }),
})

export const GlobToolInput = z.strictObject({
  pattern: pattern('Such as *.py or src/**/*.ts, matched at any depth.'),
  path: path('The directory to search.').default(DEFAULT_WORKSPACE),
})

export const GrepToolInput = z.strictObject({
  pattern: pattern('A regular expression, matched against each line.'),
  path: path('The file or directory to search.').default(DEFAULT_WORKSPACE),
  include: pattern('Search only files that match, such as *.py.').optional(),
})

const SkillNameText = z
  .string({ error: 'must be the name of a skill' })
  .regex(/^[\p{L}\p{N}_-]{1,64}$/u, { error: 'must be 1 to 64 letters, digits, "-" and "_"' })

export const ActivateToolInput = z.strictObject({ skill_name: SkillNameText.meta({ description: 'The skill.' }) })

export const RegisterSkillToolInput = z.strictObject({
  path: path('The directory of the skill, with its SKILL.md.'),
  name: SkillNameText.optional().meta({ description: 'Its name; that of its SKILL.md or its directory unless given.' }),
  display_name: text('Its name for people.').max(256).optional(),
  description: text('When to use it, in a sentence or two.').max(4_096).optional(),
  instructions: text('How to use it, in place of what its SKILL.md says.').max(1_048_576).optional(),
})

const REQUEST_PATH = 'must begin with "/" and be printable ASCII without blanks; write anything else as %XX'

export const PreviewToolInput = z.strictObject({
  port: InnerPort.meta({ description: 'Where your app listens.' }),
  path: z
    .string({ error: REQUEST_PATH })
    .max(2_048, { error: 'must be at most 2048 characters' })
    .regex(/^\/[\x21-\x7e]*$/, { error: REQUEST_PATH })
    .default('/')
    .meta({ description: 'What to ask the app for, with a query if need be.' }),
})

const processName = ProcessName.meta({ description: 'The name of the process.' })

export const ProcessStartToolInput = z.strictObject({
  name: processName.meta({ description: 'A name for it, such as web: letters, digits, ".", "_" and "-".' }),
  command: text('The command, run by /bin/sh. Do not put it into the background.').refine((command) => command !== '', {
    error: 'must not be empty',
  }),
  workdir: path('The directory to run it in.').default(DEFAULT_WORKSPACE),
  env: ExecToolInput.shape.env,
})
export const ProcessListToolInput = z.strictObject({})
export const ProcessLogsToolInput = z.strictObject({ name: processName })
export const ProcessStopToolInput = z.strictObject({ name: processName })

/** The tool could not do it; `error` is for the model to read. */
export const ToolFailure = z.object({ ok: z.literal(false), error: z.string() })
export type ToolFailure = z.output<typeof ToolFailure>

const done = z.literal(true)
const truncation = { truncated: z.boolean(), truncated_by: z.string().nullable() }

export const ExecToolResult = z.object({
  status: z.enum(EXECUTION_STATUSES),
  /** It ended by itself, with 0. */
  ok: z.boolean(),
  exit_code: z.int().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  stdout_truncated: z.boolean(),
  stderr_truncated: z.boolean(),
  duration_ms: z.int().nullable(),
  truncated: z.boolean(),
  truncated_by: z.string().optional(),
  /** Which limit the command reached, and what to do. */
  cause: z.string().optional(),
  /** What survived and what did not, when the sandbox is another one. */
  notice: z.string().optional(),
})
export const ReadToolResult = z.union([
  z.object({
    ok: done,
    content: z.string(),
    ...truncation,
    start_line: z.int(),
    end_line: z.int(),
    next_offset: z.int().nullable(),
    max_lines: z.int(),
    max_bytes: z.int(),
  }),
  z.object({
    ok: done,
    content: z.string(),
    encoding: z.literal('base64'),
    byte_offset: z.int(),
    length: z.int(),
    size_bytes: z.number(),
    has_more: z.boolean(),
    next_byte_offset: z.int().nullable(),
    max_bytes: z.int(),
  }),
  z.object({ ok: done, content: z.string(), is_directory: z.literal(true), total: z.int(), ...truncation }),
  /** For a client that shows images; `data` is base64. */
  z.object({ ok: done, image: z.object({ mime_type: z.string(), data: z.string() }), size_bytes: z.number() }),
])
export const WriteToolResult = z.object({ ok: done, path: z.string() })
export const GlobToolResult = z.object({ ok: done, matches: z.array(z.string()), total: z.int(), ...truncation })
export const GrepToolResult = z.object({
  ok: done,
  matches: z.array(z.object({ file: z.string(), line: z.int(), content: z.string() })),
  total: z.int(),
  ...truncation,
})
export const ActivateToolResult = z.object({
  ok: done,
  skill_name: z.string(),
  display_name: z.string(),
  description: z.string(),
  instructions: z.string(),
  path: z.string(),
})
export const RegisterSkillToolResult = z.object({
  ok: done,
  skill_name: z.string(),
  display_name: z.string(),
  description: z.string(),
  python_project: z.boolean(),
})

export const PreviewToolResult = z.object({
  ok: done,
  /** For the person: it needs no key. */
  url: z.url(),
  expires_at: z.iso.datetime(),
  /** What the app answered to GET. */
  status: z.int(),
  content_type: z.string().nullable(),
  /** The beginning of what it said; `null` for what is no text. */
  text: z.string().nullable(),
  truncated: z.boolean(),
})

const ProcessToolState = z.object({
  name: z.string(),
  status: z.enum(EXECUTION_STATUSES),
  exit_code: z.int().nullable(),
  started_at: z.iso.datetime(),
})
export const ProcessStartToolResult = ProcessToolState.extend({ ok: done })
export const ProcessListToolResult = z.object({ ok: done, processes: z.array(ProcessToolState), truncated: z.boolean() })
/** `output` is the end of both streams, in the order in which they were printed. */
export const ProcessLogsToolResult = ProcessToolState.extend({ ok: done, output: z.string(), truncated: z.boolean() })
export const ProcessStopToolResult = z.object({ ok: done, name: z.string() })

/** What each tool takes, and tells when it could do its work. */
export const TOOL_SHAPES = {
  exec: { input: ExecToolInput, result: ExecToolResult },
  read: { input: ReadToolInput, result: ReadToolResult },
  write: { input: WriteToolInput, result: WriteToolResult },
  edit: { input: EditToolInput, result: WriteToolResult },
  glob: { input: GlobToolInput, result: GlobToolResult },
  grep: { input: GrepToolInput, result: GrepToolResult },
  activate: { input: ActivateToolInput, result: ActivateToolResult },
  register_skill: { input: RegisterSkillToolInput, result: RegisterSkillToolResult },
  preview: { input: PreviewToolInput, result: PreviewToolResult },
  process_start: { input: ProcessStartToolInput, result: ProcessStartToolResult },
  process_list: { input: ProcessListToolInput, result: ProcessListToolResult },
  process_logs: { input: ProcessLogsToolInput, result: ProcessLogsToolResult },
  process_stop: { input: ProcessStopToolInput, result: ProcessStopToolResult },
} as const satisfies Record<ToolName, { readonly input: z.ZodType; readonly result: z.ZodType }>
export type ToolInput<N extends ToolName> = z.output<(typeof TOOL_SHAPES)[N]['input']>
export type ToolResult<N extends ToolName> = z.output<(typeof TOOL_SHAPES)[N]['result']> | ToolFailure

export const ToolDefinition = z.object({
  name: z.string(),
  description: z.string(),
  /** JSON schema. */
  input_schema: z.record(z.string(), z.unknown()),
})
export type ToolDefinition = z.output<typeof ToolDefinition>

/** The same in the words of OpenAI's function calling. */
export const OpenAiTool = z.object({
  type: z.literal('function'),
  function: z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
})
export type OpenAiTool = z.output<typeof OpenAiTool>

export const TOOL_FORMATS = ['plain', 'openai'] as const
export const ToolsQuery = z.strictObject({
  format: z
    .enum(TOOL_FORMATS, { error: `must be one of ${TOOL_FORMATS.join(', ')}` })
    .default('plain')
    .meta({ description: 'openai: as the `tools` of a chat completion.' }),
})
export const ToolList = z.object({
  /** For the system message of a model that has them. */
  guidance: z.string(),
  tools: z.array(z.union([OpenAiTool, ToolDefinition])),
})
export type ToolList = z.output<typeof ToolList>

/** `input` is the model's: what is wrong with it is told to the model, in the result. */
export const ToolCallBody = z
  .strictObject({
    ...ConversationShape,
    ...SandboxWish.shape,
    images: z
      .boolean({ error: 'must be true or false' })
      .default(false)
      .meta({ description: 'The host shows images to its model: read answers with `image` for a picture, instead of refusing it.' }),
    input: z.unknown().meta({ description: 'What the model says, by the schema that GET /v1/tools tells.' }),
  })
  .refine(namesOneConversation, ONE_CONVERSATION)
  .check(shapesNoOther)
export type ToolCallBody = z.output<typeof ToolCallBody>
export type ToolCallBodyInput = z.input<typeof ToolCallBody>

/** Lines that a command printed since the last of these, while a tool is at work. */
export const ToolProgressEvent = z.object({ text: z.string() })
export type ToolProgressEvent = z.output<typeof ToolProgressEvent>
