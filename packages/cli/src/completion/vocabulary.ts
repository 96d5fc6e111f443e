/**
 * The words of this program, read from its commands: which verbs, flags and values may stand where.
 */
import type { Command } from 'commander'

export interface Vocabulary {
  /** The verbs that lead here, with spaces; empty for the program itself. */
  readonly path: string
  readonly verbs: readonly { readonly name: string; readonly aliases: readonly string[]; readonly description: string }[]
  readonly flags: readonly FlagWord[]
  /** What its arguments are: one of these words, a session, or a file of this machine. */
  readonly values: readonly string[]
  readonly takes: 'session' | 'file' | 'nothing'
}

export interface FlagWord {
  readonly long: string
  readonly short: string | null
  readonly description: string
  readonly takesValue: boolean
  readonly choices: readonly string[]
  readonly isSession: boolean
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
        isSession: long === '--session',
      })),
      values: first?.argChoices ?? [],
      takes: takenBy(first?.name()),
    },
    ...visible.filter((child) => child.name() !== 'help').flatMap((child) => collect(child, [...path, child.name()])),
  ]
}

function takenBy(argument: string | undefined): Vocabulary['takes'] {
  if (argument === 'session' || argument === 'names' || argument === 'place') return 'session'
  return argument === 'source' || argument === 'file' || argument === 'argv' ? 'file' : 'nothing'
}
