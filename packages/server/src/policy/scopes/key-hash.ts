/**
 * The hash by which a session is found: over structured values, never over the readable key.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * JSON keeps the values apart (`a_b` and `c` are not `a` and `b_c`) and writes half a surrogate pair as an escape, so that
 * no two texts become the same bytes. The first word is the namespace: a key that a caller names cannot meet a scope's.
 * The form is part of what is stored; changing it would part every conversation from its session.
 */
import { hash as digest } from 'node:crypto'

/** Of a template and the values of its variables, in the order of appearance. */
export function scopeKeyHash(template: string, values: readonly (readonly [name: string, value: string])[]): string {
  return hash(['scope', template, values])
}

export function explicitKeyHash(text: string): string {
  return hash(['key', text])
}

function hash(structure: readonly unknown[]): string {
  return digest('sha256', JSON.stringify(structure), 'hex')
}
