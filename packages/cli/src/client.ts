/**
 * The client of this program: `@holdfast/sdk`, with the address and the key of this machine.
 */
import type { Holdfast } from '@holdfast/sdk'
import { clientEnvironment } from './config.ts'
import type { ServerFlags } from './flags/server-flags.ts'
import { isThisMachine } from './this-machine.ts'

export interface Connection {
  readonly url: string
  /** `null`: none is known. */
  readonly apiKey: string | null
}

/** Flags before the environment before the configuration; without a key of its own, the one of this machine's server. */
export async function connectionOf(flags: ServerFlags): Promise<Connection> {
  const environment = clientEnvironment()
  const url = flags.url ?? environment.url
  if (url !== null && environment.apiKey !== null) return { url, apiKey: environment.apiKey }
  // Only when it is needed: reading the settings' schemas takes a moment.
  const { loadConfig, readAdminKey } = await import('@holdfast/server/settings')
  const { host, port, home, publicUrl } = loadConfig()
  const address = url ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  if (environment.apiKey !== null) return { url: address, apiKey: environment.apiKey }
  const publicHost = publicUrl === null ? null : new URL(publicUrl).hostname
  return { url: address, apiKey: isThisMachine(address, [host, publicHost]) ? readAdminKey(home) : null }
}

export interface ClientOptions {
  /** How long a call waits for its answer, retries included. */
  readonly timeoutMs?: number
}

export async function openClient(flags: ServerFlags, { timeoutMs }: ClientOptions = {}): Promise<Holdfast> {
  const [{ Holdfast: Client }, { url, apiKey }] = await Promise.all([import('@holdfast/sdk'), connectionOf(flags)])
  const speaker = { tenant: flags.tenant, onBehalfOf: flags.as, groups: flags.group }
  return new Client({ url, apiKey: apiKey ?? undefined, ...speaker, timeoutMs })
}
