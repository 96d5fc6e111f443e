/**
 * The program with what the call needs. A server stays for weeks, so its verbs come without the others; all others are loaded with them
 * all, because help, mistakes and completion name them.
 */
import type { Command } from 'commander'
import { bareProgram, teachWhereHelpIs } from './bare-program.ts'
import { addBox } from './commands/box.ts'
import { addUp } from './commands/up.ts'

const SERVING: ReadonlyMap<string, (program: Command) => void> = new Map([
  ['up', addUp],
  ['box', addBox],
])

/** `verb`: the first word after the program's name. */
export async function programFor(verb: string | undefined): Promise<Command> {
  const add = SERVING.get(verb ?? '')
  if (add === undefined) return (await import('./program.ts')).createProgram()
  const program = bareProgram()
  add(program)
  teachWhereHelpIs(program, [])
  return program
}
