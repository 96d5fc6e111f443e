/**
 * What a server prints, as whole lines: pieces are put together again, and a line above the limit is told instead of kept.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 *
 * Never holds more than the limit. Of a line that is too long it remembers both ends, where the id of the call stands that it answers.
 */
const NEWLINE = 10
const END_BYTES = 512

/** `bytes`: of a line that may be too large to be parsed. */
export type MessageLine = { readonly text: string } | { readonly bytes: Buffer } | { readonly tooLong: true; readonly id: number | null }

/** A shorter line cannot have more members than are parsed at once. */
const LIGHT_BYTES = 65_536

/** A line in pieces begins with so much room, and doubles it as it grows. */
const FIRST_ROOM_BYTES = 65_536
const EMPTY = Buffer.alloc(0)

export class MessageLines {
  readonly #maximumBytes: number
  /** A line that has not ended, at the beginning of its room. */
  #room: Buffer = EMPTY
  #bytes = 0
  /** Set while a line is too long: its beginning, and its last bytes so far. */
  #head: Buffer | null = null
  #tail: Buffer = EMPTY

  constructor(maximumBytes: number) {
    this.#maximumBytes = maximumBytes
  }

  /** The lines that end in these bytes. */
  push(bytes: Buffer): MessageLine[] {
    const lines: MessageLine[] = []
    let from = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      lines.push(this.#ended(bytes.subarray(from, end)))
      from = end + 1
    }
    if (from < bytes.length) this.#add(bytes.subarray(from))
    return lines
  }

  /** No more comes: what is left is a line too. */
  end(): MessageLine[] {
    return this.#bytes === 0 ? [] : [this.#ended(EMPTY)]
  }

  #ended(last: Buffer): MessageLine {
    // Most lines come in one piece, and need no room.
    if (this.#bytes === 0 && last.length <= Math.min(LIGHT_BYTES, this.#maximumBytes)) return { text: last.toString('utf8') }
    this.#add(last)
    const head = this.#head
    const line: MessageLine =
      head === null
        ? this.#bytes > LIGHT_BYTES
          ? { bytes: this.#room.subarray(0, this.#bytes) }
          : { text: this.#room.toString('utf8', 0, this.#bytes) }
        : { tooLong: true, id: idIn(head.toString('latin1'), this.#tail.toString('latin1')) }
    this.#forget()
    return line
  }

  #add(bytes: Buffer): void {
    const before = this.#bytes
    this.#bytes += bytes.length
    if (this.#head !== null) return this.#keepTail(bytes)
    if (this.#bytes > this.#maximumBytes) {
      // Copies, so that the room is not kept for their sake.
      this.#head = Buffer.concat([this.#room.subarray(0, Math.min(before, END_BYTES)), bytes.subarray(0, END_BYTES)])
      this.#tail = Buffer.from(this.#room.subarray(Math.max(0, before - END_BYTES), before))
      this.#room = EMPTY
      return this.#keepTail(bytes)
    }
    if (this.#bytes > this.#room.length) {
      const room = Buffer.allocUnsafe(Math.min(this.#maximumBytes, Math.max(FIRST_ROOM_BYTES, this.#bytes * 2)))
      this.#room.copy(room, 0, 0, before)
      this.#room = room
    }
    bytes.copy(this.#room, before)
  }

  #keepTail(bytes: Buffer): void {
    this.#tail = Buffer.from(Buffer.concat([this.#tail, bytes.subarray(-END_BYTES)]).subarray(-END_BYTES))
  }

  #forget(): void {
    this.#room = EMPTY
    this.#bytes = 0
    this.#head = null
    this.#tail = EMPTY
  }
}

/** Only where it must be a member of the message itself: before anything else in it, or after everything else. */
function idIn(head: string, tail: string): number | null {
  const found = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,16})\s*,/.exec(head)
  const last = /[,{]\s*"id"\s*:\s*(\d{1,16})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail)
  const id = found?.[1] ?? last?.[1]
  return id === undefined ? null : Number(id)
}
