/**
 * Flags to values. What cannot be read is refused with the flag's name, by the parser of the command line.
 */
import { InvalidArgumentError } from 'commander'
import type { RestartRules } from '@holdfast/sdk'

export function repeated(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value]
}

/** `name=value`, once or more. */
export function assignment(text: string, earlier: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  const equals = text.indexOf('=')
  if (equals < 1) throw new InvalidArgumentError('It must be name=value.')
  return { ...earlier, [text.slice(0, equals)]: text.slice(equals + 1) }
}

export function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= least && value <= most)) throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
    return value
  }
}

export function decimal(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be a number, such as 0.5.')
  return Number(text)
}

const SECONDS_OF = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** `90`, `90s`, `5m`, `2h`, `7d` → seconds. */
export function duration(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  if (count === undefined || !(unit === 's' || unit === 'm' || unit === 'h' || unit === 'd'))
    throw new InvalidArgumentError('It must be a time such as 90, 90s, 5m, 2h or 7d.')
  return Number(count) * SECONDS_OF[unit]
}

const MOMENT = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/

/** A time span before now, or a moment of ISO 8601 → Unix milliseconds, by the clock of this machine. */
export function pastTime(text: string): number {
  const time = MOMENT.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  if (!/^\d{1,9}[smhd]?$/.test(text))
    throw new InvalidArgumentError('It must be a time span such as 90s, 5m or 2h, or a time such as 2026-01-31T12:00:00Z.')
  return Date.now() - duration(text) * 1000
}

/** A number, or the word for no limit; the parser of the command line knows no `null`. */
export type OrNone = number | 'none'

export function orNull(value: OrNone | undefined): number | null | undefined {
  return value === 'none' ? null : value
}

/** The same, and `none`. */
export function durationOrNone(text: string): OrNone {
  return text === 'none' ? text : duration(text)
}

const LONGEST_COMMAND_SECONDS = 3600

/** Seconds, fractions too → milliseconds. */
export function commandTime(text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(seconds > 0 && seconds <= LONGEST_COMMAND_SECONDS))
    throw new InvalidArgumentError(`It must be a number of seconds above 0 and at most ${LONGEST_COMMAND_SECONDS}.`)
  return Math.max(1, Math.round(seconds * 1000))
}

/** `none`: no limit. */
export function commandTimeOrNone(text: string): number | null {
  return text === 'none' ? null : commandTime(text)
}

const RESTART = /^(?:(no|always)|(on-failure)(?::(\d{1,6}))?)$/

/** `no`, `always`, `on-failure`, or `on-failure:5` for at most five times. */
export function restartRules(text: string): RestartRules {
  const [, word, failing, most] = RESTART.exec(text) ?? []
  if (word === 'no' || word === 'always') return { policy: word }
  if (failing === undefined) throw new InvalidArgumentError('It must be no, always, on-failure, or on-failure:5 for at most five times.')
  return { policy: 'on-failure', ...(most === undefined ? {} : { maxRestarts: Number(most) }) }
}

const BYTES_OF: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 }

/** `512m`, `2g`, or `none`. */
export function byteSizeOrNone(text: string): OrNone {
  if (text === 'none') return text
  const [, count, unit] = /^(\d{1,12})([kmgt]?)i?b?$/i.exec(text) ?? []
  if (count === undefined || unit === undefined) throw new InvalidArgumentError('It must be a size such as 512m or 2g, or none.')
  return Number(count) * (BYTES_OF[unit.toLowerCase()] ?? 1)
}

export function decimalOrNone(text: string): OrNone {
  return text === 'none' ? text : decimal(text)
}

export function wholeNumberOrNone(text: string): OrNone {
  return text === 'none' ? text : wholeNumber(1, 1_000_000)(text)
}
