/** Ids made by the server: a prefix that says what it names, and 16 random characters of [0-9a-z] (82 bits). */
import { randomBytes } from 'node:crypto'

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz'
/** Bytes at or above this would favour the first letters. */
const FAIR_BELOW = 256 - (256 % ALPHABET.length)
const LENGTH = 16

export function randomId(prefix: string): string {
  let id = ''
  while (id.length < LENGTH) {
    for (const byte of randomBytes(LENGTH * 2)) {
      if (byte < FAIR_BELOW && id.length < LENGTH) id += ALPHABET.charAt(byte % ALPHABET.length)
    }
  }
  return `${prefix}_${id}`
}
