/**
 * For tests: a real HTTP server on a real unix socket that answers like an engine, by script.
 *
 * It stands in for the answers that a healthy engine cannot be brought to give: refusals, odd shapes, endless bodies.
 */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Script = (request: IncomingMessage, response: ServerResponse) => void

export interface ScriptedEngine extends AsyncDisposable {
  readonly path: string
  /** `METHOD path` of every request, in order. */
  readonly requests: string[]
}

export const VERSION_ANSWER = { Version: '27.0.0', ApiVersion: '1.46', MinAPIVersion: '1.24' }

/** Answers `/version` by itself unless the script names it first. */
export async function scriptedEngine(scripts: Readonly<Record<string, Script>>): Promise<ScriptedEngine> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-engine-'))
  const path = join(directory, 'engine.sock')
  const requests: string[] = []
  const server = createServer((request, response) => {
    const url = request.url ?? ''
    requests.push(`${request.method ?? ''} ${url}`)
    const script = Object.entries(scripts).find(([part]) => url.includes(part))?.[1]
    if (script !== undefined) script(request, response)
    else if (url === '/version') response.end(JSON.stringify(VERSION_ANSWER))
    else response.writeHead(501).end()
  })
  server.listen(path)
  await once(server, 'listening')
  return {
    path,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await rm(directory, { recursive: true })
    },
  }
}
