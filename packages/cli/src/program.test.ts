/** The words of the program: each verb teaches by an example that is true, and the document lists them all. */
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { leaves, readDocument, withVerbs } from './contract/document.ts'
import { createProgram } from './program.ts'

const program = createProgram()
const verbs = leaves(program, [])

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (piece) => (text += piece), writeErr: (piece) => (text += piece) })
  command.outputHelp()
  return text
}

/** `holdfast sessions ls -a` → the verb and its flags; what follows `--` is another program's. */
function resolve(line: string): { readonly command: Command; readonly flags: readonly string[] } {
  const [own = ''] = line.split(/ -- | \| | > | \|\| |\)| {3,}/)
  const words = own.match(/'[^']*'|"[^"]*"|\S+/g) ?? []
  let command = program
  const flags: string[] = []
  for (const word of words) {
    const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (child !== undefined && flags.length === 0) command = child
    else if (/^-[a-zA-Z-]/.test(word)) flags.push(word)
  }
  return { command, flags }
}

test.each(verbs.map(({ path, command }) => ({ path, command })))('$path says what it does and shows how', ({ path, command }) => {
  expect(command.description()).not.toBe('')
  const lines = helpOf(command)
    .split('\n')
    .flatMap((line) => /^ {2}.*?\bholdfast (.*)$/.exec(line)?.[1] ?? [])
  expect({ path, examples: lines.length }).not.toEqual({ path, examples: 0 })
  for (const line of lines.filter((one) => !one.startsWith('<'))) {
    const { command: shown, flags } = resolve(line)
    expect({ line, isVerb: shown !== program }).toEqual({ line, isVerb: true })
    const unknown = flags.filter((flag) => !isKnown(shown, flag))
    expect({ line, unknown }).toEqual({ line, unknown: [] })
  }
})

/** Also several short ones in one, as in `-it`. */
function isKnown(command: Command, flag: string): boolean {
  const has = (one: string) => command.options.some(({ long, short }) => long === one || short === one)
  return (
    has(flag) ||
    (/^-[a-z]+$/.test(flag) &&
      flag
        .slice(1)
        .split('')
        .every((letter) => has(`-${letter}`)))
  )
}

test('docs/cli.md lists every verb', () => {
  const document = readDocument()
  expect(withVerbs(document, program)).toBe(document)
})

test('every verb that prints data can print it for programs, and every verb that asks a server can be told which', () => {
  const printing = verbs.filter(({ command }) => command.options.some(({ long }) => long === '--output'))
  expect(printing.length).toBeGreaterThan(30)
  for (const { command } of printing)
    expect(command.options.find(({ long }) => long === '--output')?.argChoices).toEqual(['table', 'json', 'yaml'])
  const alone = ['up', 'box', 'doctor', 'config show', 'backup', 'restore', 'sandboxes run', 'mcp config', 'completion', 'version']
  const asking = verbs.filter(({ path }) => !alone.includes(path))
  for (const { path, command } of asking) {
    const flags = command.options.map(({ long }) => long)
    expect({ path, flags }).toEqual({ path, flags: expect.arrayContaining(['--url', '--tenant', '--as']) })
  }
})
