/** What is printed for each client: a line that a shell reads as meant, or JSON. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { clientConfig } from './client-config.ts'

/** What a shell makes of the line, with the client's program replaced by one that tells its arguments. */
function wordsOf(line: string): readonly string[] {
  const told = execFileSync('sh', ['-c', line.replace(/^\w+ /, "printf '%s\\0' ")], { encoding: 'utf8' })
  return told.split('\0').slice(0, -1)
}

test('Claude Code gets a line that adds the server', () => {
  expect(clientConfig('claude', ['holdfast'], [])).toBe('claude mcp add holdfast -- holdfast mcp serve')
})

test('Cursor gets the JSON of its settings', () => {
  expect(JSON.parse(clientConfig('cursor', ['node', 'cli.mjs'], ['--session', 'demo']))).toEqual({
    mcpServers: { holdfast: { command: 'node', args: ['cli.mjs', 'mcp', 'serve', '--session', 'demo'] } },
  })
})

test('what a shell would take apart reaches the client whole', () => {
  const flags = ['--session', "it's $HOME; `id`"]
  expect(wordsOf(clientConfig('claude', ['holdfast'], flags))).toEqual([
    'mcp',
    'add',
    'holdfast',
    '--',
    'holdfast',
    'mcp',
    'serve',
    ...flags,
  ])
  const [, json = ''] = wordsOf(clientConfig('vscode', ['holdfast'], flags))
  expect(JSON.parse(json)).toEqual({ name: 'holdfast', command: 'holdfast', args: ['mcp', 'serve', ...flags] })
})
