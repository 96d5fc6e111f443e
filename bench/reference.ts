/**
 * The references: the same work done on the host from Node, without any sandbox. Every ratio of the benchmark is against one of these,
 * or against the engine's own creation (`engine-reference.ts`).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A plain `spawn` with pipes, until everything of it is over. */
export async function spawnOnHost(argv: readonly [string, ...string[]]): Promise<void> {
  const [program, ...args] = argv
  const child = spawn(program, args)
  await once(child, 'close')
  if (child.exitCode !== 0) throw new Error(`${argv.join(' ')} ended on the host with ${child.exitCode}`)
}

/** MB/s of a program's stdout through a pipe to Node. */
export async function pipeRate(bytes: number): Promise<number> {
  const startedAt = performance.now()
  const child = spawn('head', ['-c', String(bytes), '/dev/zero'], { stdio: ['ignore', 'pipe', 'ignore'] })
  let received = 0
  child.stdout.on('data', (chunk: Buffer) => (received += chunk.length))
  await once(child, 'close')
  if (received !== bytes) throw new Error(`the host pipe carried ${received} bytes instead of ${bytes}`)
  return megabytesPerSecond(bytes, performance.now() - startedAt)
}

export function megabytesPerSecond(bytes: number, milliseconds: number): number {
  return bytes / 1_000 / milliseconds
}

/** A `cat` that answers what it is sent. */
export interface Echo {
  /** Resolves once every byte came back. */
  roundTrip(message: Buffer): Promise<void>
  close(): Promise<void>
}

export function echoOnHost(): Echo {
  const child = spawn('cat', { stdio: ['pipe', 'pipe', 'ignore'] })
  const answers = awaitedBytes()
  child.stdout.on('data', (chunk: Buffer) => answers.arrived(chunk.length))
  return {
    roundTrip(message) {
      child.stdin.write(message)
      return answers.expect(message.length)
    },
    async close() {
      const closed = once(child, 'close')
      child.stdin.end()
      await closed
    },
  }
}

/** Resolves one waiter once as many bytes came as he expects. */
export function awaitedBytes() {
  let missing = 0
  let done = (): void => undefined
  return {
    expect(bytes: number): Promise<void> {
      missing += bytes
      return new Promise((resolve) => (done = resolve))
    },
    arrived(bytes: number): void {
      missing -= bytes
      if (missing === 0) done()
    },
  }
}
