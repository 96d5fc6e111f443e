/**
 * One MCP server as Claude, VS Code and others write it, and beside that where it runs and what of it is offered.
 *
 * What those programs keep for themselves (`autoApprove`, `alwaysAllow`, `gallery`, `version`, …) is ignored. What would mean something
 * that a box cannot do is refused by its name.
 */
import { z } from 'zod'
import { McpBoxConfig } from './box-config.ts'
import { ConfigText, EnvironmentShape } from './environment.ts'

export const MCP_SCOPES = ['session', 'pipeline', 'tenant', 'shared'] as const
export const McpScope = z.enum(MCP_SCOPES, { error: 'must be "session", "pipeline", "tenant" or "shared"' })
export type McpScope = z.output<typeof McpScope>

const MAXIMUM_ARGUMENTS = 1_024
const MAXIMUM_TOOLS = 1_024
const REMOTE = 'a remote server needs no box; give your client its address'

/** The value does not matter, so it is not repeated: it may hold a secret. */
const refused = (error: string) =>
  z
    .unknown()
    .refine((value) => value === undefined || value === null, { error })
    .optional()
    .meta({ description: `Refused: ${error}.` })

const ToolNames = z
  .array(z.string({ error: 'must be the name of a tool' }).min(1, { error: 'must not be empty' }).max(256), {
    error: 'must be a list of names',
  })
  .max(MAXIMUM_TOOLS, { error: `must be at most ${MAXIMUM_TOOLS}` })
  .optional()

export const McpToolChoice = z.object(
  {
    /** Only these; left out: all. */
    allow: ToolNames,
    /** Not these, whatever `allow` says. */
    deny: ToolNames,
  },
  { error: 'must be an object' },
)
export type McpToolChoice = z.output<typeof McpToolChoice>

export const McpServerConfig = z
  .object(
    {
      type: z.literal('stdio', { error: ({ input }) => (isRemote(input) ? REMOTE : 'must be "stdio"') }).optional(),
      transport: z.literal('stdio', { error: ({ input }) => (isRemote(input) ? REMOTE : 'must be "stdio"') }).optional(),
      url: refused(REMOTE),
      serverUrl: refused(REMOTE),
      httpUrl: refused(REMOTE),
      envFile: refused('a file of the host is not read for it; put its variables into env'),
      command: ConfigText.min(1, { error: 'must not be empty' }).max(4096, { error: 'must be at most 4096 characters' }),
      args: z
        .array(ConfigText, { error: 'must be a list of texts' })
        .max(MAXIMUM_ARGUMENTS, { error: `must be at most ${MAXIMUM_ARGUMENTS}` })
        .default([]),
      env: EnvironmentShape.default({}),
      cwd: ConfigText.min(1, { error: 'must not be empty' }).max(4096, { error: 'must be at most 4096 characters' }).optional(),
      disabled: z.boolean({ error: 'must be true or false' }).default(false),
      box: McpBoxConfig.prefault({}),
      scope: McpScope.default('session').meta({
        description:
          'Who shares one process: a conversation, in whose box it runs; those of a pipeline; a tenant; or everybody of this server.',
      }),
      tools: McpToolChoice.default({}),
    },
    { error: 'must be an object' },
  )
  // What is refused or only repeats itself has done its work.
  .transform(({ command, args, env, cwd, disabled, box, scope, tools }) => ({ command, args, env, cwd, disabled, box, scope, tools }))
export type McpServerConfig = z.output<typeof McpServerConfig>
export type McpServerConfigInput = z.input<typeof McpServerConfig>

function isRemote(type: unknown): boolean {
  return typeof type === 'string' && /^(streamable-?)?https?$|^sse$|^wss?$|^websocket$/i.test(type)
}
