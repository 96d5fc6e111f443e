/**
 * Fields: the payload of every frame that is not DATA, as `u8 tag, u32 length, bytes`, repeated.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * Owns the tag numbers and their widths. Reading copies nothing: a payload is checked once and then searched, because
 * the guest's frames have at most eight fields.
 */
import { violated } from './violation.ts'

export const Tag = {
  VERSION: 1,
  BOOT: 2,
  ID: 3,
  TAG: 4,
  PID: 5,
  SEQ: 6,
  SKIPPED: 7,
  AFTER: 8,
  WINDOW: 9,
  PORT: 10,
  COUNT: 11,
  STATUS: 12,
  CODE: 13,
  FLAGS: 14,
  SURVIVORS: 15,
  USEC: 16,
  ERRNO: 17,
  MESSAGE: 18,
  SIGNO: 19,
  TREE: 20,
  GRACE_MS: 21,
  KILLED: 22,
  VERIFIED: 23,
  COLS: 24,
  ROWS: 25,
  STATE: 26,
  NAME: 27,
  TOKEN: 28,
  ARGV: 32,
  SELF: 33,
  ENV: 34,
  CWD: 35,
  UID: 36,
  GID: 37,
  USER: 38,
  STDIN: 39,
  PTY: 40,
  TIMEOUT_MS: 41,
  RLIMIT: 42,
  EPHEMERAL: 43,
} as const
export type Tag = (typeof Tag)[keyof typeof Tag]

/** Bytes of an integer field; a tag that is not here holds bytes or text. */
const INTEGER_WIDTHS: Readonly<Partial<Record<number, 1 | 2 | 4 | 8>>> = {
  [Tag.VERSION]: 4,
  [Tag.ID]: 8,
  [Tag.PID]: 4,
  [Tag.SEQ]: 8,
  [Tag.SKIPPED]: 8,
  [Tag.AFTER]: 8,
  [Tag.WINDOW]: 4,
  [Tag.PORT]: 2,
  [Tag.COUNT]: 4,
  [Tag.STATUS]: 1,
  [Tag.CODE]: 4,
  [Tag.FLAGS]: 1,
  [Tag.SURVIVORS]: 1,
  [Tag.USEC]: 8,
  [Tag.ERRNO]: 4,
  [Tag.SIGNO]: 4,
  [Tag.TREE]: 1,
  [Tag.GRACE_MS]: 4,
  [Tag.KILLED]: 4,
  [Tag.VERIFIED]: 1,
  [Tag.COLS]: 2,
  [Tag.ROWS]: 2,
  [Tag.STATE]: 1,
  [Tag.TOKEN]: 8,
  [Tag.SELF]: 1,
  [Tag.UID]: 4,
  [Tag.GID]: 4,
  [Tag.STDIN]: 1,
  [Tag.TIMEOUT_MS]: 4,
  [Tag.EPHEMERAL]: 1,
}

const FIELD_HEADER_BYTES = 5

export type Field = readonly [tag: Tag, value: number | bigint | string | Uint8Array]

function valueBytes([tag, value]: Field): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value === 'object') return value.length
  return INTEGER_WIDTHS[tag] ?? 0
}

export function fieldsBytes(fields: readonly Field[]): number {
  let total = 0
  for (const field of fields) total += FIELD_HEADER_BYTES + valueBytes(field)
  return total
}

/** Writes the fields from `at` on; `target` has room for `fieldsBytes(fields)` there. */
export function writeFields(target: Buffer, at: number, fields: readonly Field[]): void {
  let next = at
  for (const [tag, value] of fields) {
    target[next] = tag
    const start = next + FIELD_HEADER_BYTES
    const length = writeValue(target, start, tag, value)
    target.writeUInt32LE(length, next + 1)
    next = start + length
  }
}

function writeValue(target: Buffer, at: number, tag: Tag, value: Field[1]): number {
  if (typeof value === 'string') return target.write(value, at)
  if (typeof value === 'object') {
    target.set(value, at)
    return value.length
  }
  const width = INTEGER_WIDTHS[tag]
  if (width === undefined) throw new TypeError(`field ${tag} holds bytes, not the number ${value}`)
  if (width === 8) target.writeBigUInt64LE(BigInt(value), at)
  else target.writeUIntLE(Number(value), at, width)
  return width
}

/** The fields of one frame from the guest. A malformed payload throws here, a field of the wrong width when it is asked for. */
export class Fields {
  readonly #payload: Buffer

  constructor(payload: Buffer) {
    let at = 0
    while (at < payload.length) {
      if (payload.length - at < FIELD_HEADER_BYTES) throw violated(`a field is cut off after ${payload.length - at} bytes`)
      const length = payload.readUInt32LE(at + 1)
      at += FIELD_HEADER_BYTES
      if (length > payload.length - at)
        throw violated(`a field of ${length} bytes lies in a payload with ${payload.length - at} bytes left`)
      at += length
    }
    this.#payload = payload
  }

  /** The first field with that tag. */
  bytes(tag: Tag): Buffer | undefined {
    const payload = this.#payload
    for (let at = 0; at < payload.length;) {
      const start = at + FIELD_HEADER_BYTES
      const end = start + payload.readUInt32LE(at + 1)
      if (payload[at] === tag) return payload.subarray(start, end)
      at = end
    }
    return undefined
  }

  #integerBytes(tag: Tag): Buffer | undefined {
    const bytes = this.bytes(tag)
    const width = INTEGER_WIDTHS[tag]
    if (bytes && bytes.length !== width) throw violated(`field ${tag} has ${bytes.length} bytes instead of ${width}`)
    return bytes
  }

  /** An integer; one beyond 2^53 is a violation, because no honest guest counts that far. */
  number(tag: Tag): number | undefined {
    const bytes = this.#integerBytes(tag)
    if (!bytes) return undefined
    if (bytes.length < 8) return bytes.readUIntLE(0, bytes.length)
    const high = bytes.readUInt32LE(4)
    if (high > 0x1f_ffff) throw violated(`field ${tag} is ${bytes.readBigUInt64LE()}, beyond 2^53`)
    return high * 0x1_0000_0000 + bytes.readUInt32LE(0)
  }

  requiredNumber(tag: Tag): number {
    const value = this.number(tag)
    if (value === undefined) throw violated(`field ${tag} is missing`)
    return value
  }

  requiredBigint(tag: Tag): bigint {
    const bytes = this.#integerBytes(tag)
    if (bytes?.length !== 8) throw violated(`field ${tag} is missing`)
    return bytes.readBigUInt64LE()
  }

  /** Text as the guest wrote it; bytes that are no UTF-8 become U+FFFD. */
  text(tag: Tag): string | undefined {
    return this.bytes(tag)?.toString('utf8')
  }
}
