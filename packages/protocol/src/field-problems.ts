/**
 * A schema's complaints as sentences for people: which field, and what is wrong with it.
 *
 * Every edge that parses strictly (the API, the configuration, the command line) words its refusals through this one
 * place, so that an unknown key is always named and a value's problem always stands behind its field.
 */
import type { z } from 'zod'

export interface FieldProblem {
  /** Dotted path, empty for the value as a whole. */
  readonly field: string
  readonly problem: string
}

/** More help nobody, and would make the refusal larger than the request. */
export const MAXIMUM_PROBLEMS = 100

export function fieldProblems(error: z.ZodError): readonly FieldProblem[] {
  const problems = error.issues.slice(0, MAXIMUM_PROBLEMS).flatMap((issue) => {
    const field = issue.path.map(String).join('.')
    if (issue.code !== 'unrecognized_keys') return [{ field, problem: lowerFirst(issue.message) }]
    const keys = issue.keys.slice(0, MAXIMUM_PROBLEMS)
    return keys.map((key) => ({ field: [...issue.path.map(String), key].join('.'), problem: 'is not a known field' }))
  })
  return problems.slice(0, MAXIMUM_PROBLEMS)
}

/** All problems as one line: `memory: must be at least …; colour: is not a known field`. */
export function problemSentence(problems: readonly FieldProblem[]): string {
  return problems.map(({ field, problem }) => (field === '' ? problem : `${field}: ${problem}`)).join('; ')
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
