/**
 * Log lines on stderr: one JSON object each, or text for people.
 *
 * Stands beside the flow. Events are noun-verb names with plain fields. Command text, environment and keys never come here: no caller passes
 * them, and nothing in this file looks into a request.
 */
import { inspect } from 'node:util'

const SEVERITY = { debug: 10, info: 20, warn: 30, error: 40 } as const
export type LogLevel = keyof typeof SEVERITY
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Log {
  debug(event: string, fields?: LogFields): void
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

type WriteLine = (line: string) => void
type Line = (time: string, level: LogLevel, event: string, fields: LogFields) => string

const FORMATS = {
  json: (time, level, event, fields) => JSON.stringify({ time, level, event, ...fields }),
  text: (time, level, event, fields) => `${time} ${level.toUpperCase().padEnd(5)} ${event}${textOf(fields)}`,
} as const satisfies Record<string, Line>
export type LogFormat = keyof typeof FORMATS

export interface LogOptions {
  /** What is less severe is left out. */
  readonly level: LogLevel
  /** `auto`: text where stderr is a terminal, otherwise JSON. */
  readonly format: LogFormat | 'auto'
}

export function createLog({ level: least, format }: LogOptions, write: WriteLine = (line) => process.stderr.write(line)): Log {
  const lineOf: Line = FORMATS[format === 'auto' ? (process.stderr.isTTY ? 'text' : 'json') : format]
  const at =
    (level: LogLevel) =>
    (event: string, fields: LogFields = {}) => {
      if (SEVERITY[level] < SEVERITY[least]) return
      write(`${lineOf(new Date().toISOString(), level, event, fields)}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export function jsonLog(level: LogLevel, write?: WriteLine): Log {
  return createLog({ level, format: 'json' }, write)
}

/** What could end the line or be taken for another field stands in quotes. */
function textOf(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${typeof value === 'string' && !/^[\w.:/@+-]+$/.test(value) ? JSON.stringify(value) : value}`)
    .join('')
}

/** An error and its causes in one field: `sandbox not made: engine said 500: no space left`. */
export function errorText(error: unknown): string {
  const parts: string[] = []
  for (let current = error; current !== undefined && current !== null && parts.length < 5; current = causeOf(current)) {
    parts.push(current instanceof Error ? current.message : inspect(current))
  }
  return parts.join(': ')
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}
