/**
 * Where the server is and which key to show it, from the environment, where there is one.
 *
 * Browsers have none. Deno asks its user for leave, and a refusal is the same as nothing.
 */

interface Surroundings {
  readonly process?: {
    readonly env?: Readonly<Record<string, string | undefined>>
    /** Of Node from 20.16 on, and of Bun: a module without an import, which a bundle for browsers could not resolve. */
    readonly getBuiltinModule?: (name: string) => unknown
  }
  readonly Deno?: { readonly env: { get(name: string): string | undefined } }
}

export const DEFAULT_URL = 'http://127.0.0.1:5410'

export function fromEnvironment(name: 'HOLDFAST_URL' | 'HOLDFAST_API_KEY', surroundings: Surroundings = globalThis): string | undefined {
  try {
    const value = surroundings.Deno === undefined ? surroundings.process?.env?.[name] : surroundings.Deno.env.get(name)
    return value === '' ? undefined : value
  } catch {
    // Deno without --allow-env.
    return undefined
  }
}

/** What is used of `node:fs` and `node:os`. */
interface FileSystem {
  readFileSync(path: string, encoding: 'utf8'): string
}
interface System {
  homedir(): string
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * The key in the home of this machine's server, for who may read that file: the user who started it. Only for a server on loopback, so
 * that it is shown to nobody else.
 */
export function adminKeyHere(url: string, surroundings: Surroundings = globalThis): string | undefined {
  const load = surroundings.process?.getBuiltinModule
  if (surroundings.Deno !== undefined || load === undefined || !URL.canParse(url) || !LOOPBACK.has(new URL(url).hostname)) return undefined
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node's own modules
    const [files, system] = [load('node:fs') as FileSystem, load('node:os') as System]
    const home = surroundings.process?.env?.['HOLDFAST_HOME'] ?? `${system.homedir()}/.holdfast`
    return files.readFileSync(`${home}/admin.key`, 'utf8').trim() || undefined
  } catch {
    // There is none, or it is somebody else's.
    return undefined
  }
}
