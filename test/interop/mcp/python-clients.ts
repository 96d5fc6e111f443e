/**
 * The official Python client (`mcp` of PyPI), in a process of its own that `driver.py` runs.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { foreign } from '../langbot-driver.ts'
import { clientOver } from './mcp-client.ts'
import type { OnProgress, Progress, PublishedMcpClient } from './mcp-client.ts'

export const PYTHON_CLIENT = 'mcp==2.3.0'

type Values = Readonly<Record<string, unknown>>

export interface PythonClients {
  /** One for each revision of the protocol. */
  readonly clients: readonly PublishedMcpClient[]
  close(): Promise<void>
}

/** Their process starts with the first one that is opened. */
export function pythonClients(python: string): PythonClients {
  let driver: Driver | null = null
  let opened = 0
  const clientOf = (revision: string, mode: string): PublishedMcpClient => ({
    name: `${PYTHON_CLIENT} of PyPI (${revision})`,
    hearsProgress: true,
    async open(url, headers) {
      const { order } = (driver ??= startDriver(python))
      const client = `client-${(opened += 1)}`
      await order('open', { client, url, headers, mode })
      return clientOver(
        (method, params = {}, onProgress) => order('ask', { client, method, params, watched: onProgress !== undefined }, onProgress),
        async () => void (await order('close', { client })),
      )
    },
  })
  return {
    clients: [clientOf('2026-07-28', '2026-07-28'), clientOf('2025-11-25', 'legacy')],
    close: async () => driver?.close(),
  }
}

interface Driver {
  order(what: string, values: Values, onProgress?: OnProgress): Promise<unknown>
  close(): Promise<void>
}

interface Waiting extends PromiseWithResolvers<unknown> {
  readonly onProgress: OnProgress | undefined
}
type Answer = { readonly number: number } & ({ readonly value: unknown } | { readonly error: string } | { readonly progress: Progress })

function startDriver(python: string): Driver {
  const child = spawn(python, [join(import.meta.dirname, 'driver.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...foreign(process.env), PYTHONDONTWRITEBYTECODE: '1' },
  })
  const waiting = new Map<number, Waiting>()
  let orders = 0
  createInterface(child.stdout).on('line', (line) => {
    const answer: Answer = JSON.parse(line)
    const asked = waiting.get(answer.number)
    if ('progress' in answer) return asked?.onProgress?.(answer.progress)
    waiting.delete(answer.number)
    if ('error' in answer) asked?.reject(new Error(answer.error))
    else asked?.resolve(answer.value)
  })
  const closed = once(child, 'close').then(() => {
    for (const { reject } of waiting.values()) reject(new Error('the driver has ended'))
  })
  return {
    order(what, values, onProgress) {
      const answer = { ...Promise.withResolvers<unknown>(), onProgress }
      waiting.set((orders += 1), answer)
      child.stdin.write(`${JSON.stringify({ number: orders, do: what, ...values })}\n`)
      return answer.promise
    },
    async close() {
      child.stdin.end()
      await closed
    },
  }
}
