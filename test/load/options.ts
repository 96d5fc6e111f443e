/**
 * How long, how many, and in which form the results are wanted.
 */

export interface LoadOptions {
  readonly minutes: number
  readonly sessions: number
  readonly isJson: boolean
}

/** From the arguments and `HOLDFAST_LOAD_MINUTES` (10), `HOLDFAST_LOAD_SESSIONS` (100). */
export function loadOptions(args: readonly string[], environment: NodeJS.ProcessEnv): LoadOptions {
  const unknown = args.find((arg) => arg !== '--json')
  if (unknown !== undefined) throw new Error(`there is no option ${unknown}; there is --json`)
  return {
    minutes: numberOf(environment, 'HOLDFAST_LOAD_MINUTES', 10),
    sessions: numberOf(environment, 'HOLDFAST_LOAD_SESSIONS', 100),
    isJson: args.includes('--json'),
  }
}

function numberOf(environment: NodeJS.ProcessEnv, name: string, usual: number): number {
  const text = environment[name]
  const value = text === undefined ? usual : Number(text)
  if (!(value > 0 && Number.isFinite(value))) throw new Error(`${name} must be a number above 0, not '${text}'`)
  return value
}
