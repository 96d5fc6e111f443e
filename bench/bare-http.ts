/**
 * The program `children/mcp-bare-http.ts`, lent to the work and ended after it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { McpAddress } from './mcp-client.ts'

export async function withBareHttp<T>(work: (address: McpAddress) => Promise<T>): Promise<T> {
  const program = join(import.meta.dirname, 'children', 'mcp-bare-http.ts')
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  try {
    const port = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve)
      ended.then(() => reject(new Error('the bare server ended before it listened')), reject)
    })
    return await work({ url: `http://127.0.0.1:${port}/mcp`, key: 'none' })
  } finally {
    child.kill()
    await ended
  }
}
