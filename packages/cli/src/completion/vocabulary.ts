/**
 * The words of this program, read from its commands: which verbs, flags and values may stand where.
 */
import type { Command } from 'commander'

export interface Vocabulary {
  /** The verbs that lead here, with spaces; empty for the program itself. */
  readonly path: string
  readonly verbs: readonly { readonly name: string; readonly aliases: readonly string[]; readonly description: string }[]
  readonly flags: readonly FlagWord[]
  /** What its arguments are: one of these words, or something of the server's or of this machine. */
  readonly values: readonly string[]
  readonly takes: Taken
}

/** `process`: a session, then one of its processes. `place`: a session, or `session:path`. `copy`: a file here, or `session:path`. */
export type Taken = 'session' | 'process' | 'place' | 'copy' | 'server' | 'file' | 'nothing'

export interface FlagWord {
  readonly long: string
  readonly short: string | null
  readonly description: string
  readonly takesValue: boolean
  readonly choices: readonly string[]
  /** What the server is asked for. */
  readonly asks: 'sessions' | 'scopes' | null
}

export function vocabularyOf(program: Command): readonly Vocabulary[] {
  return collect(program, [])
}

function collect(command: Command, path: readonly string[]): readonly Vocabulary[] {
  const visible = command.createHelp().visibleCommands(command)
  const flags = command.createHelp().visibleOptions(command)
  const first = command.registeredArguments[0]
  return [
    {
      path: path.join(' '),
      verbs: visible.map((child) => ({ name: child.name(), aliases: child.aliases(), description: child.description() })),
      flags: flags.map(({ long, short, description, required, optional, argChoices }) => ({
        long: long ?? '',
        short: short ?? null,
        description,
        takesValue: required || optional,
        choices: argChoices ?? [],
        asks: long === '--session' ? 'sessions' : long === '--scope' && path[0] !== 'mcp' ? 'scopes' : null,
      })),
      values: first?.argChoices ?? [],
      takes: takenBy(first?.name(), path.join(' ')),
    },
    ...visible.filter((child) => child.name() !== 'help').flatMap((child) => collect(child, [...path, child.name()])),
  ]
}

function takenBy(argument: string | undefined, path: string): Taken {
  if (argument === 'names') return ['logs', 'attach', 'kill'].includes(path) ? 'process' : 'session'
  if (argument === 'session' || argument === 'place') return argument
  if (argument === 'name' && path.startsWith('mcp ') && path !== 'mcp add') return 'server'
  if (path === 'cp') return 'copy'
  return argument === 'file' || argument === 'argv' ? 'file' : 'nothing'
}
