/**
 * The secret that is an API key: made of 32 random bytes, known to the server by its hash.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * A plain hash is enough, because nobody can guess the random bytes behind it. Comparing hashes takes the same time wherever two
 * keys differ.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

const KEY = /^hf_[\w-]{43}$/

export function newKey(): string {
  return `hf_${randomBytes(32).toString('base64url')}`
}

/** Whether this could be a key that `newKey` made. */
export function looksLikeKey(text: string): boolean {
  return KEY.test(text)
}

/** SHA-256, in hexadecimal digits. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex')
}

export function isSameHash(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)]
  return one.length === other.length && timingSafeEqual(one, other)
}
