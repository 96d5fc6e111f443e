/** Ids made by the server: a prefix that says what it names, and 16 random characters of [0-9a-z] (82 bits). */
import { randomFillSync } from 'node:crypto'

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz'
/** Bytes at or above this would favour the first letters. */
const FAIR_BELOW = 256 - (256 % ALPHABET.length)
const LENGTH = 16

/** Asking the kernel for each id would cost more than making it. */
const pool = new Uint8Array(4_096)
let used = pool.length

export function randomId(prefix: string): string {
  let id = ''
  while (id.length < LENGTH) {
    const byte = nextByte()
    if (byte < FAIR_BELOW) id += ALPHABET.charAt(byte % ALPHABET.length)
  }
  return `${prefix}_${id}`
}

/** The same for the same bytes, of which there are at least 16; as hard to guess as they are. */
export function derivedId(prefix: string, bytes: Uint8Array): string {
  return `${prefix}_${Array.from(bytes.subarray(0, LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('')}`
}

/** Each is given once. */
function nextByte(): number {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const byte = pool[used] ?? 0
  pool[used] = 0
  used += 1
  return byte
}
