/**
 * The few calls that the test environment makes to a Docker or Podman API socket. The product's own client is elsewhere and is under test.
 */
import { createReadStream } from 'node:fs'
import { request } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const ANSWER_LIMIT_MS = 60_000

interface Answer {
  readonly status: number
  readonly body: string
}

export async function engineAnswers(socketPath: string): Promise<boolean> {
  try {
    return (await call(socketPath, 'GET', '/_ping')).status === 200
  } catch {
    return false // nobody listens (yet)
  }
}

export async function hasImage(socketPath: string, name: string): Promise<boolean> {
  return (await call(socketPath, 'GET', `/images/${name}/json`)).status === 200
}

/** Of the network that containers get when they name none. */
export async function bridgeSubnet(socketPath: string): Promise<string> {
  const { body } = await call(socketPath, 'GET', '/networks/bridge')
  const found: { readonly IPAM: { readonly Config: readonly { readonly Subnet: string }[] } } = JSON.parse(body)
  const [first] = found.IPAM.Config
  if (first === undefined) throw new Error('the engine has no bridge')
  return first.Subnet
}

/** Makes a one-layer image of a tarball. `changes` are lines of a Dockerfile. */
export async function importImage(socketPath: string, name: string, tarPath: string, changes: readonly string[]): Promise<void> {
  const query = new URLSearchParams({ fromSrc: '-', repo: name, tag: 'latest' })
  for (const change of changes) query.append('changes', change)
  const answer = await call(socketPath, 'POST', `/images/create?${query.toString()}`, createReadStream(tarPath))
  if (answer.status !== 200 || answer.body.includes('"error"')) throw new Error(`the engine did not import ${name}: ${answer.body}`)
}

export async function removeEveryContainer(socketPath: string): Promise<void> {
  const { body } = await call(socketPath, 'GET', '/containers/json?all=1')
  const containers: readonly { readonly Id: string }[] = JSON.parse(body)
  await Promise.all(containers.map(({ Id }) => removeContainer(socketPath, Id)))
}

/** Killed first, because Podman's forced removal grants a container ten seconds to stop. */
async function removeContainer(socketPath: string, id: string): Promise<void> {
  await call(socketPath, 'POST', `/containers/${id}/kill`)
  await call(socketPath, 'DELETE', `/containers/${id}?force=1&v=1`)
}

async function call(socketPath: string, method: string, path: string, body?: Readable): Promise<Answer> {
  const headers = body === undefined ? {} : { 'content-type': 'application/x-tar' }
  const outgoing = request({ socketPath, method, path, headers, signal: AbortSignal.timeout(ANSWER_LIMIT_MS) })
  const answered = new Promise<Answer>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', reject)
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body: Buffer.concat(chunks).toString() }))
    })
  })
  if (body === undefined) outgoing.end()
  else await Promise.race([pipeline(body, outgoing), answered])
  return answered
}
