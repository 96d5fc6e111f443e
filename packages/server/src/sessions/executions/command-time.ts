/**
 * How long a command may run: as it asks, or as its session's profile says, and never longer than that allows.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * Named processes and terminals are meant to stay; a profile bounds neither.
 */
import type { CompleteWish } from '../../store/tables/sessions.ts'
import type { Command } from './command.ts'

export interface TimedRequest {
  readonly command: Command
  readonly name?: string | undefined
  /** For a command that names no time, where its profile has none either; left out, it needs none. */
  readonly usualTimeoutMs?: number | undefined
}

export function timedCommand(
  { command, name, usualTimeoutMs }: TimedRequest,
  wish: Pick<CompleteWish, 'timeout_ms' | 'max_timeout_ms'>,
): Command {
  if (name !== undefined || command.terminal !== undefined) return command
  const usual = usualTimeoutMs === undefined ? undefined : (wish.timeout_ms ?? usualTimeoutMs)
  const asked = command.timeoutMs ?? usual
  const most = wish.max_timeout_ms
  const timeoutMs = most === undefined ? asked : Math.min(asked ?? most, most)
  return timeoutMs === command.timeoutMs ? command : { ...command, timeoutMs }
}
