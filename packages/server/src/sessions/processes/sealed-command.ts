/**
 * The command of a process that may be started again: a secret at rest, like all commands.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { z } from 'zod'
import type { Sealing } from '../../home/sealing.ts'
import type { RestartRow } from '../../store/tables/process-restarts.ts'
import type { Command } from '../executions/command.ts'

const StoredCommand = z.object({
  argv: z.array(z.string()),
  cwd: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
  interactive: z.boolean().optional(),
  timeoutMs: z.int().optional(),
})

type Place = Pick<RestartRow, 'sessionId' | 'name'>

export function sealCommand(sealing: Sealing, place: Place, command: Command): Uint8Array {
  return sealing.seal(Buffer.from(JSON.stringify(StoredCommand.parse(command))), contextOf(place))
}

/** Throws `config_invalid` for what was sealed with another key. */
export function openCommand(sealing: Sealing, row: Pick<RestartRow, 'sessionId' | 'name' | 'command'>): Command {
  if (row.command === null) throw new HoldfastError('internal', 'a process that is over has no command')
  return StoredCommand.parse(JSON.parse(Buffer.from(sealing.open(row.command, contextOf(row))).toString()))
}

function contextOf({ sessionId, name }: Place): string {
  return `restart ${sessionId} ${name}`
}
