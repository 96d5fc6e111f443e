/**
 * Scopes on the wire: which conversation a request belongs to, said by a rule and its variables instead of a finished key.
 *
 * A scope is one of the built-in names or a template such as `{launcher_type}_{launcher_id}`. The bounds stand here, once; what a
 * template may contain, and what it becomes, is the server's policy.
 */
import { z } from 'zod'

export const SCOPE_NAMES = ['global', 'chat', 'user', 'conversation', 'message', 'app', 'desktop'] as const
export type ScopeName = (typeof SCOPE_NAMES)[number]

/** The languages in which the choices are shown. */
export const LANGUAGES = ['en-US', 'zh-Hans', 'zh-Hant', 'ja-JP', 'vi-VN', 'th-TH', 'es-ES', 'ru-RU'] as const
export type Language = (typeof LANGUAGES)[number]

/** Also as LangBot spells it, `en_US`. */
export const LanguageTag = z
  .enum([...LANGUAGES, 'en_US', 'zh_Hans', 'zh_Hant', 'ja_JP', 'vi_VN', 'th_TH', 'es_ES', 'ru_RU'], {
    error: `must be one of ${LANGUAGES.join(', ')}`,
  })
  .transform((tag) => LANGUAGES.find((language) => language === tag.replace('_', '-')) ?? 'en-US')

export const MAXIMUM_TEMPLATE_LENGTH = 256
export const MAXIMUM_VARIABLES = 64
export const MAXIMUM_VARIABLE_NAME_LENGTH = 64
export const MAXIMUM_VARIABLE_LENGTH = 256
/** Of the readable key that a scope gives or a caller names. */
export const MAXIMUM_KEY_LENGTH = 1024

// Keys are stored, logged and shown in terminals; PostgreSQL takes neither NUL nor half a surrogate pair.
const isPlainText = (text: string) => text.isWellFormed() && !/\p{Cc}/u.test(text)
const PLAIN_TEXT_MESSAGE = 'must not contain control characters or broken Unicode'

const NAME_MESSAGE = `a name must be at most ${MAXIMUM_VARIABLE_NAME_LENGTH} letters, digits, "_" and "-", and begin with a letter`
const VALUE_MESSAGE =
  `must be text of at most ${MAXIMUM_VARIABLE_LENGTH} characters without control characters, ` +
  `or a number up to ${Number.MAX_SAFE_INTEGER} (send larger ones as text)`

/** A variable's name, in a request and between the braces of a template. */
export const VariableName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, { error: NAME_MESSAGE, abort: true })
  .max(MAXIMUM_VARIABLE_NAME_LENGTH, { error: NAME_MESSAGE })

/** Text or number; the number 5 and the text '5' are the same value. Empty text counts as missing. */
export const VariableValue = z.union(
  [
    z.string().max(MAXIMUM_VARIABLE_LENGTH, { error: VALUE_MESSAGE, abort: true }).refine(isPlainText, { error: VALUE_MESSAGE }),
    // Reading JSON rounds larger numbers, so that two different ids would become one.
    z.number().min(Number.MIN_SAFE_INTEGER, { error: VALUE_MESSAGE }).max(Number.MAX_SAFE_INTEGER, { error: VALUE_MESSAGE }),
  ],
  { error: VALUE_MESSAGE },
)

/** A built-in name, or a template: text with braces in it. */
export const ScopeText = z
  .string({ error: 'must be a string' })
  .max(MAXIMUM_TEMPLATE_LENGTH, { error: `must be at most ${MAXIMUM_TEMPLATE_LENGTH} characters` })
  .refine(isPlainText, { error: PLAIN_TEXT_MESSAGE })
  .refine((text) => SCOPE_NAMES.some((name) => name === text) || /[{}]/.test(text), {
    error: `must be one of ${SCOPE_NAMES.join(', ')}, or a template such as "{launcher_type}_{launcher_id}"`,
  })

/** A key that the caller names itself, without a scope. */
export const SessionKey = z
  .string({ error: `must be a string of 1 to ${MAXIMUM_KEY_LENGTH} characters` })
  .refine((text) => text.trim() !== '', { error: 'must not be empty' })
  .max(MAXIMUM_KEY_LENGTH, { error: `must be at most ${MAXIMUM_KEY_LENGTH} characters` })
  .refine(isPlainText, { error: PLAIN_TEXT_MESSAGE })

/** What happens to a request whose scope uses a variable that the request leaves out. */
export const MISSING_RULES = ['refuse', 'unknown'] as const
export type MissingRule = (typeof MISSING_RULES)[number]

export const ScopeRequest = z.strictObject({
  /** Left out: the server's default. */
  scope: ScopeText.optional(),
  variables: z
    .record(VariableName, VariableValue, { error: (issue) => (issue.code === 'invalid_key' ? NAME_MESSAGE : 'must be an object') })
    .refine((variables) => Object.keys(variables).length <= MAXIMUM_VARIABLES, {
      error: `must be at most ${MAXIMUM_VARIABLES} variables`,
    })
    // Whoever could change it would leave a scope that an operator forces on everybody.
    .refine((variables) => variables['global'] === undefined || variables['global'] === 'global', {
      error: 'is the constant "global" and takes no other value',
      path: ['global'],
    })
    .optional(),
  missing: z.enum(MISSING_RULES, { error: 'must be "refuse" or "unknown"' }).optional().meta({
    description:
      'For variables that the scope uses and the request leaves out. "refuse": 400 names them, and any variable the scope does not know. "unknown": each becomes a fixed word, so requests that leave out the same variable share a session. Left out: the setting scopes.missing.',
  }),
})
export type ScopeRequest = Readonly<z.output<typeof ScopeRequest>>
