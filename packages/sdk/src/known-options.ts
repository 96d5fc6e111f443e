/**
 * Options that a call does not have are refused by name: a misspelt one would otherwise be dropped, and `timeout: 5` be no time-out.
 *
 * The tables are kept whole by the compiler: each has every name of its interface and no other.
 */
import { HoldfastError } from './errors.ts'

export type OptionNames<T> = Readonly<Record<keyof Required<T>, true>>

export function refuseUnknown<T extends object>(call: string, options: T, names: OptionNames<T>): void {
  const known = Object.keys(names)
  const unknown = Object.entries(options).find(([name, value]) => value !== undefined && !known.includes(name))?.[0]
  if (unknown === undefined) return
  const alike = known.find(
    (name) => name.toLowerCase().startsWith(unknown.toLowerCase()) || unknown.toLowerCase().startsWith(name.toLowerCase()),
  )
  const advice = alike === undefined ? `it has ${known.join(', ')}` : `do you mean ${alike}?`
  throw new HoldfastError({ code: 'invalid_request', message: `${call} has no option '${unknown}'; ${advice}` })
}
