/**
 * Headers of tar archives: 512 bytes, in the format of POSIX (ustar with pax records), and the names of GNU tar when read.
 */

export const BLOCK = 512
const OCTAL_LIMIT = 8 ** 11

export type TarType = 'file' | 'directory' | 'symlink' | 'hardlink' | 'other'

export interface TarEntry {
  /** As it is in the archive. */
  readonly name: string
  readonly type: TarType
  readonly mode: number
  readonly size: number
  readonly modifiedAt: number
  /** Of a link. */
  readonly target: string
}

const FLAGS = { file: '0', directory: '5', symlink: '2' } as const

/** With the pax records before it that it needs. */
export function tarHeader(entry: TarEntry & { readonly type: keyof typeof FLAGS }): Buffer {
  const records: [string, string][] = []
  if (Buffer.byteLength(entry.name) > 100) records.push(['path', entry.name])
  if (Buffer.byteLength(entry.target) > 100) records.push(['linkpath', entry.target])
  if (entry.size >= OCTAL_LIMIT) records.push(['size', String(entry.size)])
  const own = block({ ...entry, flag: FLAGS[entry.type] })
  if (records.length === 0) return own
  const pax = Buffer.concat(records.map(([name, value]) => paxRecord(name, value)))
  return Buffer.concat([block({ ...entry, name: 'pax', target: '', size: pax.length, flag: 'x' }), padded(pax), own])
}

/** Two empty blocks end an archive. */
export const TAR_END = Buffer.alloc(2 * BLOCK)

export function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padding(bytes.length))])
}

function block({ name, mode, size, modifiedAt, target, flag }: Omit<TarEntry, 'type'> & { readonly flag: string }): Buffer {
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0, 100)
  header.write(octal(mode & 0o7777, 7), 100)
  header.write(octal(0, 7), 108)
  header.write(octal(0, 7), 116)
  header.write(octal(size < OCTAL_LIMIT ? size : 0, 11), 124)
  header.write(octal(Math.max(0, Math.floor(modifiedAt / 1000)), 11), 136)
  header.write(' '.repeat(8), 148)
  header.write(flag, 156)
  header.write(target, 157, 100)
  header.write('ustar\u000000', 257)
  header.write(`${octal(sumOf(header), 6)}\0 `, 148)
  return header
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0').slice(-digits)
}

/** The length counts itself. */
function paxRecord(name: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${name}=${value}\n`)
  let length = rest + 1
  while (String(length).length + rest !== length) length = String(length).length + rest
  return Buffer.from(`${length} ${name}=${value}\n`)
}

function sumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0)
}

/** `flag` is the type as one character. `null` for what is no header. */
export function readTarHeader(header: Buffer): (Omit<TarEntry, 'type'> & { readonly flag: string }) | null {
  if (number(header, 148, 8) !== sumOf(header)) return null
  const prefix = header.toString('latin1', 257, 262) === 'ustar' && header[262] === 0 ? text(header, 345, 155) : ''
  const name = text(header, 0, 100)
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    mode: number(header, 100, 8),
    size: number(header, 124, 12),
    modifiedAt: number(header, 136, 12) * 1000,
    target: text(header, 157, 100),
    flag: header.toString('latin1', 156, 157),
  }
}

/** `path=…` and its like, by their names. */
export function readPax(bytes: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at)
    const length = space < 0 ? 0 : Number(bytes.toString('latin1', at, space))
    if (!Number.isInteger(length) || length < 5 || at + length > bytes.length) break
    const record = bytes.toString('utf8', space + 1, at + length - 1)
    const equals = record.indexOf('=')
    if (equals > 0) records.set(record.slice(0, equals), record.slice(equals + 1))
    at += length
  }
  return records
}

function text(header: Buffer, start: number, length: number): string {
  const field = header.subarray(start, start + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end)
}

/** Octal, or the bytes of the number where GNU tar needs more of them. */
function number(header: Buffer, start: number, length: number): number {
  const first = header[start] ?? 0
  if (first === 0x80) return Number(BigInt(`0x${header.toString('hex', start + 1, start + length)}`))
  const value = Number.parseInt(text(header, start, length).trim() || '0', 8)
  return Number.isFinite(value) ? value : 0
}
