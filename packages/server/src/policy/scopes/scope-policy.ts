/**
 * Which session a request belongs to: the scope it asks for, the server's default, or the one that is forced on everybody.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { MissingRule, ScopeRequest } from '@holdfast/protocol'
import { DEFAULT_SCOPE } from './choices.ts'
import { explicitKey, readScope } from './scope.ts'
import type { Scope, ScopedKey } from './scope.ts'

export interface ScopePolicyNeeds {
  /** `chat` when left out. */
  readonly defaultScope?: string
  /** Taken instead of whatever a caller asks for. */
  readonly forcedScope?: string
  /** For requests that do not say it themselves; `refuse` when left out. */
  readonly missing?: MissingRule
  /** Names a task that has neither an id nor a conversation. Left out, such tasks are all the user's `default` one. */
  readonly newTaskId?: () => string
}

export interface ResolvedKey extends ScopedKey {
  /** The scope is the server's, and what the caller asked for was not looked at. */
  readonly forced: boolean
}

export interface ScopePolicy {
  /** Throws `invalid_request` for a scope that cannot be read or gives no usable key, and for missing and unknown variables. */
  resolve(request: ScopeRequest): ResolvedKey
  /** For a caller that names its key; throws `invalid_request` where a forced scope needs variables that a key does not have. */
  resolveKey(text: string): ResolvedKey
}

/** Throws `config_invalid` when one of the two scopes cannot be read. */
export function scopePolicy(needs: ScopePolicyNeeds): ScopePolicy {
  const { defaultScope = DEFAULT_SCOPE, forcedScope, missing: usualMissing = 'refuse', newTaskId = () => '' } = needs
  const byDefault = configured('default', defaultScope)
  const forced = forcedScope === undefined ? null : configured('forced', forcedScope)
  return {
    resolve({ scope, variables, missing = usualMissing }) {
      const chosen = forced ?? (scope === undefined ? byDefault : readScope(scope))
      // A caller cannot know that another scope is forced on it, so variables of the scope that it named are no mistake.
      if (missing === 'refuse') chosen.checkVariables(variables, forced === null ? [] : variablesIn(scope))
      return { ...chosen.keyOf(variables, newTaskId), forced: forced !== null }
    },
    resolveKey(text) {
      if (forced === null) return { ...explicitKey(text), forced: false }
      // With every variable missing, conversations that must not meet would all get one key.
      if (!forced.isConstant) {
        const message = `this server forces the scope '${forcedScope}'; send its variables, not the key '${text}'`
        throw new HoldfastError('invalid_request', message, { scope: forcedScope })
      }
      return { ...forced.keyOf(undefined, newTaskId), forced: true }
    },
  }
}

function variablesIn(scope: string | undefined): readonly string[] {
  if (scope === undefined) return []
  try {
    return readScope(scope).variables
  } catch (error) {
    if (isHoldfastError(error, 'invalid_request')) return []
    throw error
  }
}

function configured(which: string, text: string): Scope {
  try {
    return readScope(text)
  } catch (error) {
    if (!isHoldfastError(error, 'invalid_request')) throw error
    throw new HoldfastError('config_invalid', `the ${which} scope: ${error.message}`, error.details, { cause: error })
  }
}
