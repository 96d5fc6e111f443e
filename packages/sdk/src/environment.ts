/**
 * Where the server is and which key to show it, from the environment, where there is one.
 *
 * Browsers have none. Deno asks its user for leave, and a refusal is the same as nothing.
 */

interface Surroundings {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> }
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
