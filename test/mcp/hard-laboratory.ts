/**
 * A whole server on each backend that the hard cases are tried on, and what they look at: inside the box, in the log, on the machine.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { backendsAbovePort, because } from '../environment/backends.ts'
import type { BackendUnderTest } from '../environment/machine.ts'
import { startHoldfast } from './holdfast-process.ts'
import type { HoldfastProcess } from './holdfast-process.ts'
import type { Address } from './mcp-clients.ts'

const PROGRAM = readFileSync(join(import.meta.dirname, 'hard-server.py'), 'utf8')

export interface HardLaboratory {
  readonly holdfast: HoldfastProcess
  /** Puts a server of its own for one test; the address is that of a conversation of the same name. */
  serve(name: string, wish?: { readonly env?: Readonly<Record<string, string>>; readonly box?: object }): Promise<Address>
  /** What a command prints in the box of that conversation. */
  inside(name: string, command: string): Promise<string>
  /** Children of the server that run in the box, with `sleep` as their program. */
  sleepers(name: string): Promise<number>
  logOf(name: string): Promise<string>
  runOf(name: string): Promise<Record<string, unknown>>
}

export interface HardOptions {
  readonly settings?: NodeJS.ProcessEnv
  /** All tests on all backends at once: each has servers and conversations of its own, and waits more than it works. */
  readonly isConcurrent?: boolean
}

/** Declares the tests on each backend; the laboratory is open while they run. */
export async function describeHard(
  what: string,
  declare: (laboratory: HardLaboratory, under: BackendUnderTest) => void,
  { settings = {}, isConcurrent = false }: HardOptions = {},
): Promise<void> {
  for (const under of await backendsAbovePort()) {
    const options = { concurrent: isConcurrent }
    describe.skipIf(under.skipReason !== null)(`${what} on ${under.kind}${because(under)}`, options, () => {
      let holdfast: HoldfastProcess
      beforeAll(async () => {
        holdfast = await startHoldfast(under, settings)
      })
      afterAll(() => holdfast.close())
      declare(
        laboratoryOf(() => holdfast),
        under,
      )
    })
  }
}

export function laboratoryOf(current: () => HoldfastProcess): HardLaboratory {
  const inside = async (name: string, command: string) => {
    const answer = await current().json('/v1/exec', { method: 'POST', body: { session: name, command } })
    const { stdout } = answer
    return typeof stdout === 'string' ? stdout : JSON.stringify(answer)
  }
  return {
    get holdfast() {
      return current()
    },
    async serve(name, { env = {}, box = {} } = {}) {
      const { url, key, ask } = current()
      const body = { command: 'python3', args: ['-u', '-c', PROGRAM], env, box: { network: 'off', ...box } }
      expect((await ask(`/v1/mcp/servers/${name}`, { method: 'PUT', body })).status).toBe(201)
      return { url: `${url}/mcp/${name}?session=${name}`, key }
    },
    inside,
    sleepers: async (name) => Number(await inside(name, 'ps ax -o args | grep -c "^sleep 8639" || true')),
    logOf: async (name) => (await current().ask(`/v1/mcp/servers/${name}/logs`)).text(),
    async runOf(name) {
      const { runs } = await current().json(`/v1/mcp/servers/${name}`)
      return (runs as readonly Record<string, unknown>[])[0] ?? {}
    },
  }
}
