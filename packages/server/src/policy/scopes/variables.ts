/**
 * The values that the variables of a template take for one request.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * Where missing variables are allowed, one becomes a word: a request that leaves it out and one that sends that very word are the same.
 */
import type { ScopeRequest } from '@holdfast/protocol'
import { MISSING } from './choices.ts'
import type { ScopeRule } from './choices.ts'

export type Variables = ScopeRequest['variables']

/** The value of `name`, never empty. `newTaskId` is called only for a task that nothing else names. */
export function variableValue(name: string, variables: Variables, rule: ScopeRule, newTaskId: () => string): string {
  // Always the same, whatever a caller sends: a scope that is forced on everybody may rest on it.
  if (name === 'global') return 'global'
  const found = rule.findsTask && name === 'task_id' ? taskId(variables, newTaskId) : given(name, variables)
  if (found !== '') return found
  return Object.hasOwn(rule.missing, name) ? (rule.missing[name] ?? MISSING) : MISSING
}

/** Names that the request leaves out. A task is never among them: one that nobody names is a new one. */
export function missingVariables(names: readonly string[], variables: Variables, { findsTask }: ScopeRule): readonly string[] {
  return names.filter((name) => name !== 'global' && !(findsTask && name === 'task_id') && given(name, variables) === '')
}

function taskId(variables: Variables, newTaskId: () => string): string {
  return given('task_id', variables) || given('conversation_id', variables) || newTaskId()
}

/** Empty when absent. Only own fields count, so that `{constructor}` finds nothing. */
function given(name: string, variables: Variables): string {
  return variables !== undefined && Object.hasOwn(variables, name) ? String(variables[name] ?? '') : ''
}
