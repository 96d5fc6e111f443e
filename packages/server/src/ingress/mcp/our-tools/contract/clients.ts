/**
 * The official clients of both protocol eras, with one face for tests.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

export interface Told {
  readonly isError: boolean
  /** Of the first content. */
  readonly text: string
  readonly content: readonly { readonly type: string }[]
  readonly structured: Record<string, unknown>
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (message: string) => void
}

export interface TestClient {
  /** What the server tells the model before the conversation. */
  readonly instructions: string | undefined
  names(): Promise<readonly string[]>
  call(name: string, input: Record<string, unknown>, options?: CallOptions): Promise<Told>
  close(): Promise<void>
}

export type OpenClient = (url: string, headers?: Readonly<Record<string, string>>) => Promise<TestClient>

const INFO = { name: 'test', version: '1.0.0' }

async function legacy(url: string, headers: Readonly<Record<string, string>> = {}): Promise<TestClient> {
  const client = new LegacyClient(INFO)
  await client.connect(new LegacyHttp(new URL(url), { requestInit: { headers } }))
  return faceOf(client)
}

async function modern(url: string, headers: Readonly<Record<string, string>> = {}): Promise<TestClient> {
  const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new ModernHttp(new URL(url), { requestInit: { headers } }))
  return faceOf(client)
}

/** By the revision that each speaks. */
export const CLIENTS: Readonly<Record<string, OpenClient>> = { '2025-11-25': legacy, '2026-07-28': modern }

export function faceOf(client: LegacyClient | ModernClient): TestClient {
  return {
    instructions: client.getInstructions(),
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, input, { signal, onProgress } = {}) {
      const options = {
        ...(signal === undefined ? {} : { signal }),
        ...(onProgress === undefined
          ? {}
          : { onprogress: ({ message = '' }: { readonly message?: string | undefined }) => onProgress(message) }),
      }
      const request = { name, arguments: input }
      const result =
        client instanceof LegacyClient ? await client.callTool(request, undefined, options) : await client.callTool(request, options)
      const content = result.content as readonly { readonly type: string; readonly text?: string }[]
      return {
        isError: result.isError === true,
        text: content[0]?.text ?? '',
        content,
        structured: (result.structuredContent ?? {}) as Record<string, unknown>,
      }
    },
    close: () => client.close(),
  }
}
