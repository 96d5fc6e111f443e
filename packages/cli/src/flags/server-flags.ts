/**
 * Which server, and as whom: the same flags on every verb that asks one.
 */
import type { Command } from 'commander'
import { repeated } from './parse.ts'

export interface ServerFlags {
  readonly url?: string
  readonly tenant?: string
  readonly as?: string
  readonly group?: readonly string[]
}

export function withServer(command: Command): Command {
  return command
    .optionsGroup('Server:')
    .option('--url <address>', 'the server (default HOLDFAST_URL, else the configured address)')
    .option('--tenant <tenant>', 'for a platform administrator: name or id of the tenant that it is about')
    .option('--as <subject>', 'for a service key: the user it speaks for')
    .option('--group <name>', 'a group of that user; may be repeated', repeated)
}
