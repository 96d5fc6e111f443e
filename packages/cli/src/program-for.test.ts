/** A verb that comes alone is the same verb. */
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { programFor } from './program-for.ts'
import { createProgram } from './program.ts'

const WORDS = [['--help'], ['--no-such-flag'], ['--port'], ['too', 'many']]

async function saidBy(program: Command, argv: readonly string[]): Promise<string> {
  let text = ''
  const collect = (piece: string) => (text += piece)
  for (const command of [program, ...program.commands])
    command.configureOutput({ ...command.configureOutput(), writeOut: collect, writeErr: collect })
  const outcome = await program.parseAsync(argv, { from: 'user' }).then(() => 'ran', String)
  return `${text}${outcome}`
}

test.each(['up', 'box'])('%s alone says what it says among all verbs', async (verb) => {
  const alone = await programFor(verb)
  expect(alone.commands.map((command) => command.name())).toEqual([verb])
  for (const words of WORDS)
    expect(await saidBy(await programFor(verb), [verb, ...words])).toBe(await saidBy(createProgram(), [verb, ...words]))
})

test.each([undefined, 'help', '--help', 'sessions', 'upp'])('%s brings all verbs', async (verb) => {
  const names = (await programFor(verb)).commands.map((command) => command.name())
  expect(names).toEqual(createProgram().commands.map((command) => command.name()))
})
