/**
 * How a call or a command went, as a plain value that a proof can compare.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { ExecExit, ExecRequest, Inside } from '../../guest/inside.ts'

/** `accepted`, or the code of the error; anything but a `HoldfastError` is a bug and is thrown on. */
export async function outcomeOf(attempt: () => Promise<unknown>): Promise<string> {
  try {
    await attempt()
    return 'accepted'
  } catch (error) {
    if (isHoldfastError(error)) return error.code
    throw error
  }
}

export interface Ran extends ExecExit {
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end. Only for programs that print little. */
export async function run(inside: Inside, request: ExecRequest | readonly string[]): Promise<Ran> {
  const execution = await inside.exec('argv' in request ? request : { argv: request })
  const chunks = { stdout: Array.of<Buffer>(), stderr: Array.of<Buffer>() }
  const exit = await execution.drain((chunk) => {
    chunks[chunk.channel].push(Buffer.from(chunk.bytes))
  })
  return { ...exit, stdout: Buffer.concat(chunks.stdout).toString(), stderr: Buffer.concat(chunks.stderr).toString() }
}

/** Runs a shell script and gives what it printed; anything but success is an error that shows it all. */
export async function shell(inside: Inside, script: string): Promise<string> {
  const ran = await run(inside, ['/bin/sh', '-c', script])
  if (ran.exitCode !== 0) throw new Error(`"${script}" ended with ${ran.exitCode ?? ran.signal}: ${ran.stdout}${ran.stderr}`)
  return ran.stdout.trimEnd()
}

/** The execution's output up to the first whole line that satisfies the test. */
export async function lineFrom(output: AsyncIterable<{ readonly bytes: Buffer }>, accepts: (line: string) => boolean): Promise<string> {
  let pending = ''
  for await (const { bytes } of output) {
    const lines = (pending + bytes.toString()).split('\n')
    pending = lines.pop() ?? ''
    const found = lines.find(accepts)
    if (found !== undefined) return found
  }
  throw new Error(`the output ended without that line: ${JSON.stringify(pending)}`)
}
