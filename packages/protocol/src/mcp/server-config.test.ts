/** Configurations of MCP servers as other programs write them: taken as they are, or refused with the field and the fix. */
import { describe, expect, test } from 'vitest'
import { fieldProblems, problemSentence } from '../field-problems.ts'
import { McpServerConfig } from './server-config.ts'
import { McpServersDocument } from './servers-document.ts'

const problemsOf = (value: unknown) => {
  const parsed = McpServerConfig.safeParse(value)
  return parsed.success ? 'none' : problemSentence(fieldProblems(parsed.error))
}
const documentProblems = (value: unknown) => {
  const parsed = McpServersDocument.safeParse(value)
  return parsed.success ? 'none' : problemSentence(fieldProblems(parsed.error))
}

describe('an MCP server', () => {
  test('as Claude writes it is taken as it is, and the rest is the default', () => {
    expect(McpServerConfig.parse({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'], env: { A: 'b' } })).toEqual({
      command: 'npx',
      args: ['-y', '@modelcontextprotocol/server-everything'],
      env: { A: 'b' },
      disabled: false,
      scope: 'session',
      tools: {},
      box: {
        ...{ image: null, network: 'on', host_path: null, host_path_mode: 'ro', env: {}, startup_timeout_sec: 300 },
        ...{ cpus: null, memory_mb: null, pids_limit: null, read_only_rootfs: null },
      },
    })
  })

  test('is the same once more when it was kept as JSON', () => {
    const config = McpServerConfig.parse({
      command: 'x',
      cwd: '/a',
      env: { A: 1 },
      box: { cpus: '2' },
      scope: 'tenant',
      tools: { allow: ['t'] },
    })
    expect(McpServerConfig.parse(JSON.parse(JSON.stringify(config)))).toEqual(config)
  })

  test('keeps nothing of what clients write for themselves', () => {
    const theirs = { type: 'stdio', autoApprove: ['x'], alwaysAllow: [], gallery: true, version: '1', timeout: 60, dev: { watch: '*' } }
    expect(Object.keys(McpServerConfig.parse({ command: 'x', ...theirs })).toSorted()).toEqual(
      ['command', 'args', 'env', 'cwd', 'disabled', 'box', 'scope', 'tools'].toSorted(),
    )
  })

  test('takes numbers and null in its environment as VS Code does', () => {
    expect(McpServerConfig.parse({ command: 'x', env: { PORT: 8080, GONE: null, KEPT: '' } }).env).toEqual({ PORT: '8080', KEPT: '' })
  })

  test('may name the directory that its conversation works in', () => {
    const { args, env } = McpServerConfig.parse({ command: 'x', args: ['${workspaceFolder}/a'], env: { ROOT: '${workspaceFolder}' } })
    expect([args, env]).toEqual([['${workspaceFolder}/a'], { ROOT: '${workspaceFolder}' }])
  })

  test('takes the values of its box as laxly as LangBot, and ignores what it does not know', () => {
    const { box } = McpServerConfig.parse({ command: 'x', box: { memory_mb: '512', read_only_rootfs: 'yes', colour: 'red', cpus: '0.5' } })
    expect(box).toMatchObject({ memory_mb: 512, read_only_rootfs: true, cpus: 0.5 })
    expect(box).not.toHaveProperty('colour')
  })

  test.each([
    [{ url: 'https://a.test/mcp' }, 'url: a remote server needs no box; give your client its address'],
    [{ type: 'http', url: 'https://a.test' }, 'type: a remote server needs no box'],
    [{ type: 'sse', command: 'x' }, 'type: a remote server needs no box'],
    [{ type: 'streamable-http', command: 'x' }, 'type: a remote server needs no box'],
    [{ type: 'pigeon', command: 'x' }, 'type: must be "stdio"'],
    [{ command: 'x', envFile: '.env' }, 'envFile: a file of the host is not read for it; put its variables into env'],
    [{ command: '' }, 'command: must not be empty'],
    [{ command: 'x', args: ['a\0'] }, 'args.0: must not contain NUL'],
    [{ command: 'x', args: 'a' }, 'args: must be a list of texts'],
    [{ command: 'x', env: { TOKEN: '${input:token}' } }, 'env.TOKEN: contains ${input:token}'],
    [{ command: 'x', env: { TOKEN: '${TOKEN}' } }, 'env.TOKEN: contains ${TOKEN}; the environment of this machine is never given to a box'],
    [{ command: 'x', env: { A: '${workspaceFolder} ${TOKEN}' } }, 'env.A: contains ${TOKEN}'],
    [{ command: 'x', env: { 'A=B': 'x' } }, 'env.A=B: a name must be 1 to 256 characters without "="'],
    [{ command: 'x', args: ['${env:HOME}/x'] }, 'args.0: contains ${env:HOME}'],
    [{ command: 'x', scope: 'world' }, 'scope: must be "session"'],
    [{ command: 'x', box: { network: 'maybe' } }, 'box.network: must be off or on'],
    [{ command: 'x', box: { host_path: 'here' } }, 'box.host_path: must be an absolute path of the host'],
    [{ command: 'x', box: { startup_timeout_sec: 0 } }, 'box.startup_timeout_sec: must be at least 1'],
    [{ command: 'x', tools: { allow: 'all' } }, 'tools.allow: must be a list of names'],
  ])('%j is refused with a sentence', (config, sentence) => {
    expect(problemsOf(config)).toContain(sentence)
  })

  test('never repeats a secret in a refusal', () => {
    expect(
      problemsOf({ command: 'x', env: { A: 'hunter2 ${TOKEN} hunter2' }, url: 'https://me:hunter2@a.test', envFile: 'hunter2' }),
    ).not.toContain('hunter2')
  })
})

describe('a file of MCP servers', () => {
  test('is the same as Claude and as VS Code write it', () => {
    const one = { fetch: { command: 'uvx', args: ['mcp-server-fetch'] } }
    const fromClaude = McpServersDocument.parse({ mcpServers: one, theme: 'dark' })
    expect(McpServersDocument.parse({ servers: one, inputs: [{ id: 'token', type: 'promptString' }] })).toEqual(fromClaude)
    expect(fromClaude.mcpServers['fetch']?.command).toBe('uvx')
  })

  test.each([
    [{}, 'mcpServers: give exactly one of mcpServers and servers'],
    [{ mcpServers: {}, servers: {} }, 'mcpServers: give exactly one of mcpServers and servers'],
    [{ mcpServers: [] }, 'mcpServers: must be an object'],
    [{ mcpServers: { '../x': { command: 'x' } } }, 'must be 1 to 64 letters'],
    [{ servers: { a: { url: 'http://a' } } }, 'servers.a.url: a remote server needs no box'],
  ])('%j is refused with a sentence', (document, sentence) => {
    expect(documentProblems(document)).toContain(sentence)
  })
})
