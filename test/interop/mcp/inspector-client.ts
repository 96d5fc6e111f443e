/**
 * The CLI of the MCP Inspector: one program for each request, which prints the result as JSON.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { foreign } from '../langbot-driver.ts'
import { clientOver } from './mcp-client.ts'
import type { Ask, PublishedMcpClient } from './mcp-client.ts'

export const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0'

const LAUNCHER = ['node_modules', '@modelcontextprotocol', 'inspector', 'clients', 'launcher', 'build', 'index.js']
const MAXIMUM_OUTPUT_BYTES = 16 * 1024 * 1024

/** `tree`: where it was installed. */
export function inspectorClient(tree: string): PublishedMcpClient {
  return {
    name: INSPECTOR,
    hearsProgress: false,
    async open(url, headers) {
      // It keeps a catalog in the home of its user.
      const home = mkdtempSync(join(tmpdir(), 'holdfast-inspector-'))
      const given = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`])
      const ask: Ask = async (method, params = {}) => {
        const args = [
          join(tree, ...LAUNCHER),
          '--cli',
          url,
          '--transport',
          'http',
          ...given,
          '--method',
          method,
          ...flagsOf(method, params),
        ]
        const env = { ...foreign(process.env), HOME: home }
        const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: MAXIMUM_OUTPUT_BYTES })
        return JSON.parse(stdout)
      }
      return clientOver(ask, async () => rmSync(home, { recursive: true, force: true }))
    },
  }
}

function flagsOf(method: string, params: Readonly<Record<string, unknown>>): readonly string[] {
  const [name, pair] = method === 'tools/call' ? ['--tool-name', '--tool-arg'] : ['--prompt-name', '--prompt-args']
  const written = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return Object.entries(params).flatMap(([key, value]) => {
    if (key === 'arguments') return Object.entries(value as object).flatMap(([field, given]) => [pair, `${field}=${written(given)}`])
    return [key === 'uri' ? '--uri' : name, written(value)]
  })
}
