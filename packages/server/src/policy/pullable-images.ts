/**
 * Which images the engine may fetch from a registry. A caller's image that is already on the engine always works; fetching is another
 * matter, because the engine asks whatever host the name says, in the operator's network.
 */
export interface PullableImagesNeeds {
  /** The names that the operator wrote: the default image, those of profiles. */
  readonly configured: readonly (string | null)[]
  /** The setting `images.allowed`: names, or beginnings with `*` at the end. */
  readonly allowed: readonly string[]
}

export function pullableImages({ configured, allowed }: PullableImagesNeeds): (reference: string) => boolean {
  const names = new Set([...configured, ...allowed])
  const beginnings = allowed.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1))
  return (reference) =>
    names.has(reference) || (isPublicRegistry(registryOf(reference)) && beginnings.some((beginning) => reference.startsWith(beginning)))
}

/** `null`: the engine's default. */
function registryOf(reference: string): string | null {
  const [first = '', ...rest] = reference.split('/')
  return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? first : null
}

/** A host name with a dot and a last part that is a word. `localhost`, addresses in any spelling (`127.1`) and names of a local network are not. */
function isPublicRegistry(registry: string | null): boolean {
  return registry === null || /^[^:]*\.[a-z][a-z0-9-]*(?::\d+)?$/i.test(registry)
}
