/**
 * The built-in scopes: what each is called, which template it stands for, how long it may idle, what stands for a missing variable.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * Only data. A choice is made by its name or by writing its template out; both mean the same.
 */
import { SCOPE_NAMES } from '@holdfast/protocol'
import type { Language, ScopeName } from '@holdfast/protocol'
import { SCOPE_TEXTS } from './texts/scope-texts.ts'

/** Names that every host may send, whether its scope uses them or not; any other name must be in the template. */
export const STANDARD_VARIABLES: ReadonlySet<string> = new Set([
  ...['launcher_type', 'launcher_id', 'sender_id', 'conversation_id', 'query_id', 'user_id', 'task_id', 'global'],
])
/** What a missing variable becomes where missing variables are allowed, unless its scope says otherwise. */
export const MISSING = 'unknown'
/** How long a session of a scope without a word about it may be idle. */
export const DEFAULT_IDLE_SECONDS = 300
export const DEFAULT_SCOPE: ScopeName = 'chat'

export interface ScopeRule {
  readonly template: string
  readonly idleSeconds: number
  /** What stands for these variables when they are missing; all others become `unknown`. */
  readonly missing: Readonly<Record<string, string>>
  /** A task without an id takes that of its conversation, and without one a new id. */
  readonly findsTask: boolean
}

export interface ScopeChoice extends ScopeRule {
  readonly name: ScopeName
  readonly labels: Readonly<Record<Language, string>>
  readonly descriptions: Readonly<Record<Language, string>>
}

const inChats = (template: string): ScopeRule => ({ template, idleSeconds: DEFAULT_IDLE_SECONDS, missing: {}, findsTask: false })
const ofTasks = (template: string, idleSeconds: number): ScopeRule => ({
  template,
  idleSeconds,
  missing: { user_id: 'anonymous', task_id: 'default' },
  findsTask: true,
})

const RULES: Readonly<Record<ScopeName, ScopeRule>> = {
  global: inChats('{global}'),
  chat: inChats('{launcher_type}_{launcher_id}'),
  user: inChats('{launcher_type}_{launcher_id}_{sender_id}'),
  conversation: inChats('{launcher_type}_{launcher_id}_{conversation_id}'),
  message: inChats('{query_id}'),
  app: ofTasks('app:{user_id}:{task_id}', 1800),
  desktop: ofTasks('desktop:{user_id}:{task_id}', 900),
}

/** In the order in which they are offered. */
export const SCOPE_CHOICES: readonly ScopeChoice[] = SCOPE_NAMES.map((name) => ({
  name,
  ...RULES[name],
  labels: inEveryLanguage((language) => SCOPE_TEXTS[language][name].label),
  descriptions: inEveryLanguage((language) => SCOPE_TEXTS[language][name].description),
}))

/** The rule of a template that is not one of the choices. */
export const customRule = inChats

function inEveryLanguage(textIn: (language: Language) => string): Readonly<Record<Language, string>> {
  return {
    'en-US': textIn('en-US'),
    'zh-Hans': textIn('zh-Hans'),
    'zh-Hant': textIn('zh-Hant'),
    'ja-JP': textIn('ja-JP'),
    'vi-VN': textIn('vi-VN'),
    'th-TH': textIn('th-TH'),
    'es-ES': textIn('es-ES'),
    'ru-RU': textIn('ru-RU'),
  }
}
