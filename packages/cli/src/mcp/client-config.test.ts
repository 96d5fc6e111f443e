/** What is printed for each client: a line that a shell reads as meant, or JSON. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { clientConfig } from './client-config.ts'

const plain = { program: ['holdfast'], env: {} } as const

/** What a shell makes of the line, with the client's program replaced by one that tells its arguments. */
function wordsOf(line: string): readonly string[] {
  const told = execFileSync('sh', ['-c', line.replace(/^\w+ /, "printf '%s\\0' ")], { encoding: 'utf8' })
  return told.split('\0').slice(0, -1)
}

test('Claude Code gets a line that adds the server', () => {
  expect(clientConfig('claude', plain, [])).toBe('claude mcp add holdfast -- holdfast mcp serve')
})

test.each(['cursor', 'claude-desktop'] as const)('%s gets the JSON of its settings', (client) => {
  expect(JSON.parse(clientConfig(client, { program: ['node', 'cli.mjs'], env: {} }, ['--session', 'demo']))).toEqual({
    mcpServers: { holdfast: { command: 'node', args: ['cli.mjs', 'mcp', 'serve', '--session', 'demo'] } },
  })
})

test('what a shell would take apart reaches the client whole', () => {
  const flags = ['--session', "it's $HOME; `id`"]
  expect(wordsOf(clientConfig('claude', plain, flags))).toEqual(['mcp', 'add', 'holdfast', '--', 'holdfast', 'mcp', 'serve', ...flags])
  const [, json = ''] = wordsOf(clientConfig('vscode', plain, flags))
  expect(JSON.parse(json)).toEqual({ name: 'holdfast', command: 'holdfast', args: ['mcp', 'serve', ...flags] })
})

test('where the server is reaches each of them, because none passes its own environment on', () => {
  const env = { HOLDFAST_URL: 'http://127.0.0.1:1', HOLDFAST_HOME: '/home/it is me' }
  const own = { ...plain, env }
  expect(wordsOf(clientConfig('claude', own, [])).slice(2, 7)).toEqual([
    ...['holdfast', '-e', 'HOLDFAST_URL=http://127.0.0.1:1', '-e', 'HOLDFAST_HOME=/home/it is me'],
  ])
  expect(JSON.parse(clientConfig('cursor', own, []))).toMatchObject({ mcpServers: { holdfast: { env } } })
  expect(JSON.parse(wordsOf(clientConfig('vscode', own, []))[1] ?? '')).toMatchObject({ env })
})
