/**
 * Whether a host's settings switch its Box on: yes, unless they say no in any of the ways people write it.
 */

const OFF = new Set(['false', '0', 'no', 'off'])

export function isBoxEnabled({ enabled = true }: { readonly enabled?: unknown }): boolean {
  if (typeof enabled === 'string') return !OFF.has(enabled.trim().toLowerCase())
  return enabled !== false && enabled !== 0
}
