/**
 * One scope, ready to turn the variables of requests into keys.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * Pure: the only thing it takes from outside is the id of a task that nobody named.
 */
import { HoldfastError, MAXIMUM_KEY_LENGTH, problemSentence } from '@holdfast/protocol'
import { DEFAULT_IDLE_SECONDS, SCOPE_CHOICES, STANDARD_VARIABLES, customRule } from './choices.ts'
import { explicitKeyHash, scopeKeyHash } from './key-hash.ts'
import { parseTemplate } from './template.ts'
import { missingVariables, variableValue } from './variables.ts'
import type { Variables } from './variables.ts'

/** As `randomId('ses')` makes them. */
const SESSION_ID = /^ses_[0-9a-z]{16}$/

/** What a session is found by, inside its tenant and owner. */
export interface ScopedKey {
  /** The name of the choice, else the template; `null` for a key that the caller named. */
  readonly scope: string | null
  /** For people. Two different conversations may read alike; `keyHash` tells them apart. */
  readonly key: string
  readonly keyHash: string
  readonly idleSeconds: number
  /** A key that a caller named, and that reads like the id of a session: an open session is found by it, a new one is refused. */
  readonly hasIdForm?: boolean
}

export interface Scope {
  /** Whether it gives every request the same key. */
  readonly isConstant: boolean
  /** Names in its template. */
  readonly variables: readonly string[]
  /** Throws `invalid_request` naming each variable that is missing, and each that neither this scope nor `alsoKnown` has. */
  checkVariables(variables: Variables, alsoKnown: readonly string[]): void
  keyOf(variables: Variables, newTaskId: () => string): ScopedKey
}

/** Reads a name or a template; throws `invalid_request` for anything else. */
export function readScope(text: string): Scope {
  const choice = SCOPE_CHOICES.find(({ name, template }) => name === text || template === text)
  const rule = choice ?? customRule(text)
  const template = parseTemplate(rule.template)
  const scope = choice?.name ?? text
  return {
    isConstant: template.variables.every((name) => name === 'global'),
    variables: template.variables,
    checkVariables(variables, alsoKnown) {
      const known = [...template.variables, ...alsoKnown]
      const problems = [
        ...missingVariables(template.variables, variables, rule).map((name) => ({
          name,
          problem: `is missing; the scope '${scope}' needs it`,
        })),
        ...Object.keys(variables ?? {})
          .filter((name) => !STANDARD_VARIABLES.has(name) && !known.includes(name))
          .map((name) => ({ name, problem: `is not a variable of the scope '${scope}'` })),
      ].map(({ name, problem }) => ({ field: `variables.${name}`, problem }))
      if (problems.length > 0) throw new HoldfastError('invalid_request', problemSentence(problems), { scope, problems })
    },
    keyOf(variables, newTaskId) {
      const values = new Map(template.variables.map((name) => [name, variableValue(name, variables, rule, newTaskId)]))
      const key = template.parts.map((part) => ('literal' in part ? part.literal : values.get(part.variable))).join('')
      checkKey(key, scope)
      return { scope, key, keyHash: scopeKeyHash(template.text, [...values]), idleSeconds: rule.idleSeconds }
    },
  }
}

/** The key of a caller that names it itself. */
export function explicitKey(text: string): ScopedKey {
  const found = { scope: null, key: text, keyHash: explicitKeyHash(text), idleSeconds: DEFAULT_IDLE_SECONDS }
  return SESSION_ID.test(text) ? { ...found, hasIdForm: true } : found
}

function checkKey(key: string, scope: string): void {
  if (key.trim() === '') throw new HoldfastError('invalid_request', `the scope '${scope}' gives an empty key`, { scope })
  if (key.length <= MAXIMUM_KEY_LENGTH) return
  const message = `the scope '${scope}' gives a key of ${key.length} characters; at most ${MAXIMUM_KEY_LENGTH} are possible`
  throw new HoldfastError('invalid_request', message, { scope })
}
