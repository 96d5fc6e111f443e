/**
 * Which session a request belongs to: the scope it asks for, the server's default, or the one that is forced on everybody.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import type { ScopeRequest } from '@holdfast/protocol'
import { DEFAULT_SCOPE } from './choices.ts'
import { explicitKey, readScope } from './scope.ts'
import type { Scope, ScopedKey } from './scope.ts'

export interface ScopePolicyNeeds {
  /** `chat` when left out. */
  readonly defaultScope?: string
  /** Taken instead of whatever a caller asks for. */
  readonly forcedScope?: string
  /** Names a task that has neither an id nor a conversation. Left out, such tasks are all the user's `default` one. */
  readonly newTaskId?: () => string
}

export interface ResolvedKey extends ScopedKey {
  /** The scope is the server's, and what the caller asked for was not looked at. */
  readonly forced: boolean
}

export interface ScopePolicy {
  /** Throws `invalid_request` for a scope that cannot be read or gives no usable key. */
  resolve(request: ScopeRequest): ResolvedKey
  /** For a caller that names its key; throws `invalid_request` where a forced scope needs variables that a key does not have. */
  resolveKey(text: string): ResolvedKey
}

/** Throws `config_invalid` when one of the two scopes cannot be read. */
export function scopePolicy({ defaultScope = DEFAULT_SCOPE, forcedScope, newTaskId = () => '' }: ScopePolicyNeeds): ScopePolicy {
  const byDefault = configured('default', defaultScope)
  const forced = forcedScope === undefined ? null : configured('forced', forcedScope)
  return {
    resolve({ scope, variables }) {
      if (forced !== null) return { ...forced.keyOf(variables, newTaskId), forced: true }
      const asked = scope === undefined ? byDefault : readScope(scope)
      return { ...asked.keyOf(variables, newTaskId), forced: false }
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

function configured(which: string, text: string): Scope {
  try {
    return readScope(text)
  } catch (error) {
    if (!isHoldfastError(error, 'invalid_request')) throw error
    throw new HoldfastError('config_invalid', `the ${which} scope: ${error.message}`, error.details, { cause: error })
  }
}
