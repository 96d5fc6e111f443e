/**
 * One command through the guest, from the request to its end, as the server's own path runs it.
 */
import type { Inside } from '../packages/server/src/guest/inside.ts'

export async function runInside(inside: Inside, argv: readonly string[]): Promise<void> {
  const execution = await inside.exec({ argv })
  const exit = await execution.drain(() => undefined)
  inside.processes.forget(execution.id)
  if (exit.exitCode !== 0) throw new Error(`${argv.join(' ')} ended in the sandbox with ${exit.exitCode ?? exit.signal}`)
}
