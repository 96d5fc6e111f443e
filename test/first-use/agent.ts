/**
 * A client of one conversation with the network on: commands, files, web apps and MCP servers, over REST.
 */
import { buffer, text } from 'node:stream/consumers'
import { open } from '../../packages/server/src/ingress/preview/contract/inner-app.ts'
import type { RealServer } from '../../packages/server/src/ingress/rest/contract/real-server.ts'

type Json = Readonly<Record<string, unknown>>

/** A machine whose registries have certificates of its own authority says so by these. */
const CERTIFICATES = ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS']
export const CERTIFICATE_ENVIRONMENT = Object.fromEntries(
  CERTIFICATES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
)

export interface Agent {
  /** What a shell line prints. Throws unless it ends with 0. */
  sh(command: string): Promise<string>
  file(path: string): Promise<Buffer>
  /** Starts a web app on the port, and returns a link to it. */
  serve(command: string, port: number): Promise<string>
  page(link: string): Promise<string>
  addServer(name: string, config: Json): Promise<void>
  tool(server: string, name: string, args: Json): Promise<string>
  /** Ends what runs, gives up the sandbox, and gets another one with the next use. */
  suspend(): Promise<void>
}

export async function openAgent(real: RealServer): Promise<Agent> {
  const id = await real.session('first-use', { network: 'on' })

  async function call(method: string, path: string, body: Json): Promise<Json> {
    const headers = { 'content-type': 'application/json' }
    const response = await real.request(path, { method, headers, body: JSON.stringify(body) })
    const answer = (await response.json()) as Json
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`)
    return answer
  }
  const ofSession = (verb: string, body: Json) => call('POST', `/v1/sessions/${id}/${verb}`, body)

  return {
    async sh(command) {
      const body = { session_id: id, command, timeout_ms: 1_500_000, env: CERTIFICATE_ENVIRONMENT }
      const { exit_code: code, status, stdout, stderr } = await call('POST', '/v1/exec', body)
      if (code !== 0) throw new Error(`${command}: ${String(status)} ${String(code)}\n${String(stdout)}\n${String(stderr)}`)
      return String(stdout)
    },
    async file(path) {
      const response = await real.request(`/v1/sessions/${id}/files?path=${encodeURIComponent(path)}`)
      if (!response.ok || response.body === null) throw new Error(`${path}: ${response.status}`)
      return buffer(response.body)
    },
    async serve(command, port) {
      await ofSession('processes', { name: `port-${port}`, command })
      return String((await ofSession('previews', { port }))['url'])
    },
    page: async (link) => text(await open({ server: real.server }, link)),
    async addServer(name, config) {
      await call('PUT', `/v1/mcp/servers/${name}`, config)
    },
    async tool(server, name, args) {
      return JSON.stringify(await call('POST', `/v1/mcp/servers/${server}/tools/${name}`, { session_id: id, arguments: args }))
    },
    async suspend() {
      await ofSession('cancel-work', { processes: true })
      await ofSession('suspend', {})
    },
  }
}
