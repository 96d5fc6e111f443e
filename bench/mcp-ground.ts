/**
 * What measures of MCP servers stand on: a program, the same in a box behind the gateway of a server, and its clients' address.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { httpClient } from './http-client.ts'
import type { McpAddress } from './mcp-client.ts'
import type { MakeMcpProgram, McpProgram } from './mcp-program.ts'
import { withServer } from './server-process.ts'
import type { ServerOptions, ServerPlace } from './server-process.ts'

const SERVER = '/v1/mcp/servers/echo'
/** What is measured is Holdfast and not a quota. */
const UNBOUND = { HOLDFAST_LIMITS_CPUS: 'none' }

export interface McpGround {
  readonly program: McpProgram
  readonly address: McpAddress
  readonly serverPid: number
  /** Ends its process; the session stays, with all that was copied. */
  stop(): Promise<void>
}

export async function withMcpServer<T>(
  place: ServerPlace,
  { make, options = {} }: { readonly make: MakeMcpProgram; readonly options?: ServerOptions },
  work: (ground: McpGround) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(place.needs.stateDir, 'mcp-'))
  const settings = { ...UNBOUND, HOLDFAST_MOUNTS_ALLOWED_ROOTS: directory, ...options.settings }
  try {
    const program = await make(join(directory, 'echo'))
    return await withServer(place, { ...options, settings }, async (server) => {
      const client = httpClient(server)
      try {
        await client.put(SERVER, JSON.stringify({ ...program, box: { network: 'off' } }))
        const url = `http://127.0.0.1:${server.port}/mcp/echo?session=bench`
        return await work({
          program,
          address: { url, key: server.key },
          serverPid: server.pid,
          stop: async () => void (await client.post(`${SERVER}/restart`, {})),
        })
      } finally {
        // What works is not given up when a server stops.
        await client.post(`${SERVER}/restart`, {})
        client.close()
      }
    })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
