/**
 * What this package tells its host. Never command text, environment, tokens or file contents.
 */

export interface BoxLog {
  info(message: string, facts?: Readonly<Record<string, unknown>>): void
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void
}

export const silentLog: BoxLog = { info: () => {}, warn: () => {} }

/** The words of an error, whatever was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
