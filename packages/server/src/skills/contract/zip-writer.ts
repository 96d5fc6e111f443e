/** Zip archives written by hand, so that tests can make them lie. */
import { crc32, deflateRawSync } from 'node:zlib'

export interface WrittenEntry {
  readonly name: string | Uint8Array
  readonly content?: string | Uint8Array
  /** As in a file's mode; 0 for a writer that does not know. */
  readonly mode?: number
  readonly method?: number
  readonly flags?: number
  /** What the archive says, where that is not so. */
  readonly crc?: number
  readonly size?: number
  readonly packedSize?: number
  /** Where its bytes are, if not where they were written: the entry of this index. */
  readonly sharedWith?: number
}

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50

export function writeZip(entries: readonly WrittenEntry[], { count = entries.length }: { readonly count?: number } = {}): Buffer {
  const parts: Buffer[] = []
  const central: Buffer[] = []
  const offsets: number[] = []
  let offset = 0
  for (const entry of entries) {
    const name = Buffer.from(entry.name)
    const content = Buffer.from(entry.content ?? '')
    const method = entry.method ?? 8
    const packed = method === 8 ? deflateRawSync(content, { level: 9 }) : content
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(entry.flags ?? 0x800, 2)
    fields.writeUInt16LE(method, 4)
    fields.writeUInt32LE(entry.crc ?? crc32(content), 10)
    fields.writeUInt32LE(entry.packedSize ?? packed.length, 14)
    fields.writeUInt32LE(entry.size ?? content.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const at = entry.sharedWith === undefined ? offset : (offsets[entry.sharedWith] ?? 0)
    offsets.push(at)
    if (entry.sharedWith === undefined) {
      const local = Buffer.concat([number32(LOCAL), fields, name, packed])
      parts.push(local)
      offset += local.length
    }
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(((entry.mode ?? 0o100644) << 16) >>> 0, 6)
    tail.writeUInt32LE(at, 10)
    // Made on Unix.
    central.push(Buffer.concat([number32(CENTRAL), Buffer.of(20, 3), fields, tail, name]))
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(END, 0)
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, directory, end])
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
