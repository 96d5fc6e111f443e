/**
 * What a container engine itself says it holds: asked over its socket, without the code under test.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { request } from 'node:http'

export interface EngineReply {
  readonly status: number
  readonly body: unknown
}

export function askEngine(socketPath: string, method: string, path: string, body?: unknown): Promise<EngineReply> {
  const { promise, resolve, reject } = Promise.withResolvers<EngineReply>()
  const asked = request({ socketPath, method, path, headers: { 'content-type': 'application/json', host: 'engine' } }, (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('error', reject)
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      resolve({ status: response.statusCode ?? 0, body: parseOrText(text) })
    })
  })
  asked.on('error', reject)
  asked.end(body === undefined ? undefined : JSON.stringify(body))
  return promise
}

function parseOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Ids of every container, in any state, whose labels, names or mounts mention the marker. */
export async function containersOf(socketPath: string, marker: string): Promise<readonly string[]> {
  const { body } = await askEngine(socketPath, 'GET', '/containers/json?all=1')
  if (!Array.isArray(body)) throw new Error(`the engine did not list its containers: ${JSON.stringify(body)}`)
  return body.filter((container) => JSON.stringify(container).includes(marker)).map((container) => String(container.Id))
}

export async function volumesOf(socketPath: string): Promise<readonly string[]> {
  const { body } = await askEngine(socketPath, 'GET', '/volumes')
  if (typeof body !== 'object' || body === null || !('Volumes' in body) || !Array.isArray(body.Volumes)) return []
  return body.Volumes.map((volume) => String(volume.Name))
}

/** The same image after this script, with these changes as a Dockerfile has them. The caller removes it. */
export async function imageAfter(socketPath: string, image: string, script: string, changes = ''): Promise<string> {
  const tag = `holdfast-test/made-${crypto.randomUUID().slice(0, 8)}`
  // Podman asks for more than a machine may give unless it is told.
  const Ulimits = ['nofile', 'nproc'].map((Name) => ({ Name, Soft: 256, Hard: 256 }))
  const options = { Image: image, Cmd: ['/bin/sh', '-c', script], HostConfig: { NetworkMode: 'none', Ulimits } }
  const made = await askEngine(socketPath, 'POST', '/containers/create', options)
  if (typeof made.body !== 'object' || made.body === null || !('Id' in made.body)) throw new Error(JSON.stringify(made.body))
  const id = String(made.body.Id)
  const query = new URLSearchParams({ container: id, repo: tag, tag: 'latest', ...(changes === '' ? {} : { changes }) })
  const replies = []
  for (const path of [`/containers/${id}/start`, `/containers/${id}/wait`, `/commit?${query.toString()}`])
    replies.push(await askEngine(socketPath, 'POST', path, {}))
  await askEngine(socketPath, 'DELETE', `/containers/${id}?force=1`)
  if (replies.some(({ status }) => status >= 300)) throw new Error(JSON.stringify(replies))
  return `${tag}:latest`
}
