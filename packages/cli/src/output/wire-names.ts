/**
 * What the client library calls `expiresAt` is `expires_at` on the wire; data is printed with the names of the API's documents.
 */

/** Their names are the caller's, or are the wire's already. */
const KEPT_INSIDE = new Set(['labels', 'metadata', 'data', 'reasons', 'serverInfo'])

export function wireNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(wireNames)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined && typeof one !== 'function')
      .map(([name, one]) => [snakeCase(name), KEPT_INSIDE.has(name) ? one : wireNames(one)]),
  )
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
