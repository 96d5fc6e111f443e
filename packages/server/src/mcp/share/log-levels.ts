/**
 * Levels of a server's log notifications: the server is set to the lowest that anybody asked for, and each client sees from its own on.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 */
export const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
export type Level = (typeof LEVELS)[number]

export function isLevel(value: unknown): value is Level {
  return LEVELS.some((level) => level === value)
}

/** `null`: nobody asked for one. */
export function lowest(levels: Iterable<Level | null>): Level | null {
  let found: Level | null = null
  for (const level of levels) if (level !== null && (found === null || severity(level) < severity(found))) found = level
  return found
}

/** Who asked for nothing is not to hear more because somebody else did. */
const UNASKED: Level = 'info'

export function concerns(own: Level | null, anybodys: Level | null, level: unknown): boolean {
  const from = own ?? (anybodys === null ? 'debug' : UNASKED)
  return !isLevel(level) || severity(level) >= severity(from)
}

function severity(level: Level): number {
  return LEVELS.indexOf(level)
}
