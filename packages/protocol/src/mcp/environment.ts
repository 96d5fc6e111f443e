/**
 * Environment variables of an MCP server, as clients write them.
 *
 * A number is its digits, and `null` is no variable: nothing of the host's environment is ever there to be taken away. A value that
 * another program was to fill in (`${input:key}`, `${TOKEN}`) is refused: nobody here knows it.
 */
import { z } from 'zod'

const MAXIMUM_VARIABLES = 256
const MAXIMUM_VALUE_LENGTH = 65_536
const NAME = /^[^=\0]{1,256}$/
/** `${TOKEN}` and `${TOKEN:-otherwise}`, as a shell or Claude Code would fill in. */
const VARIABLE = /\$\{[A-Za-z_]\w*(:-[^}]*)?\}/
/** What VS Code asks a person for, or takes from the machine of that person. */
const CLIENT_VALUE = /\$\{(?:(input|env|config|command):[^}]*|(userHome|file\w*|relativeFile\w*|pathSeparator|execPath|cwd))\}/
/** The directory that a conversation works in; in a box it has one path. */
export const WORKSPACE_FOLDER = '${workspaceFolder}'

/** A text of the configuration: no NUL, and nothing that only the client could fill in. */
export const ConfigText = z
  .string({ error: 'must be text' })
  .max(MAXIMUM_VALUE_LENGTH, { error: `must be at most ${MAXIMUM_VALUE_LENGTH} characters` })
  .refine((text) => !text.includes('\0') && text.isWellFormed(), { error: 'must not contain NUL or broken Unicode' })
  .refine((text) => !CLIENT_VALUE.test(text), {
    error: ({ input }) =>
      `contains ${placeholderIn(input, CLIENT_VALUE)}, which only the program it was written for can fill in; write the value`,
  })

const Value = z.preprocess(
  (value) => (typeof value === 'number' && Number.isFinite(value) ? String(value) : value),
  ConfigText.refine((text) => !VARIABLE.test(text.replaceAll(WORKSPACE_FOLDER, '')), {
    error: ({ input }) =>
      `contains ${placeholderIn(String(input).replaceAll(WORKSPACE_FOLDER, ''), VARIABLE)}; the environment of this machine is never given to a box, so write the value`,
  }).nullable(),
)

export const EnvironmentShape = z
  .record(z.string().regex(NAME), Value, {
    error: ({ code }) => (code === 'invalid_key' ? 'a name must be 1 to 256 characters without "="' : 'must be an object of texts'),
  })
  .refine((variables) => Object.keys(variables).length <= MAXIMUM_VARIABLES, { error: `must be at most ${MAXIMUM_VARIABLES} variables` })
  .transform((variables) =>
    Object.fromEntries(Object.entries(variables).filter((variable): variable is [string, string] => variable[1] !== null)),
  )

/** The placeholder itself, which is no secret; never what is around it. */
function placeholderIn(input: unknown, pattern: RegExp): string {
  return pattern.exec(String(input))?.[0].slice(0, 100) ?? 'a placeholder'
}
