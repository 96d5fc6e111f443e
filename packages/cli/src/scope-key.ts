/**
 * The readable key that a scope gives, to find a session that exists without making one.
 *
 * The server makes the real one, and from hashes; this only narrows a search, so what it does not know it does not guess.
 */
import { wrongUse } from './flags/session-flags.ts'

/** Every variable must be there: what the server puts in its place is the server's affair. */
export function scopeKey(template: string, variables: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{\{|\}\}|\{([^{}]*)\}/g, (found, name: string | undefined) => {
    if (name === undefined) return found.charAt(0)
    const value = name === 'global' ? 'global' : variables[name]
    if (value === undefined || value === '') throw wrongUse(`the scope ${JSON.stringify(template)} needs --var ${name}=…`)
    return value
  })
}
