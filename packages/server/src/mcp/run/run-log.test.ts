/** The log of an MCP server's process: the newest lines, in bounded memory, as text that can be shown. */
import { expect, test } from 'vitest'
import { processNameOf } from './process-name.ts'
import { createRunLog } from './run-log.ts'

test('keeps the newest lines within its bounds, whatever is printed', () => {
  const log = createRunLog(() => 5)
  for (let line = 0; line < 5_000; line += 1) log.printed(`line ${line}`)
  expect(log.lines()).toHaveLength(2_000)
  expect(log.lines().at(-1)).toEqual({ at: 5, source: 'stdout', text: 'line 4999' })
  for (let line = 0; line < 100; line += 1) log.printed('x'.repeat(1_000_000))
  expect(log.lines().reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(262_144)
})

test('whoever listens hears what is done, not what is printed, until they leave', () => {
  const log = createRunLog(() => 0)
  const heard: string[] = []
  const unlisten = log.listen((line) => heard.push(line))
  log.note('\u001B[31mcopying\u001B[0m')
  log.printed('noise')
  unlisten()
  log.note('ready')
  expect(heard).toEqual(['copying'])
  expect(log.lines().map(({ source }) => source)).toEqual(['holdfast', 'stdout', 'holdfast'])
})

test('two servers never have a process of the same name, however long theirs are', () => {
  const long = 'a'.repeat(64)
  expect(processNameOf('notes')).toBe('mcp-notes')
  expect(processNameOf(long)).toMatch(/^[a-zA-Z0-9._-]{1,64}$/)
  expect(processNameOf(long)).not.toBe(processNameOf(`${long.slice(0, 63)}b`))
})
