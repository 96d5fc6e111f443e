/**
 * Log lines: one JSON object per line on stderr.
 *
 * Events are noun-verb names with plain fields. Command text, environment and keys never come here: no caller passes
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

export function jsonLog(least: LogLevel, write: (line: string) => void = (line) => process.stderr.write(line)): Log {
  const at =
    (level: LogLevel) =>
    (event: string, fields: LogFields = {}) => {
      if (SEVERITY[level] < SEVERITY[least]) return
      write(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
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
