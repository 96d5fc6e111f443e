/**
 * Output that nobody has taken yet: bytes in order, and which channel each run of them came from.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * A hostile guest can send its window byte by byte, alternating channels, each byte in a chunk of its own. So bytes and runs are
 * kept apart: a run costs one number, and bytes are copied, because what arrives is valid only until the next read.
 */
export type OutputChannel = 1 | 2

const SLAB_BYTES = 65_536

export class OutputQueue {
  /** Bytes in order, from `#firstPiece` on. */
  #pieces: Buffer[] = []
  #firstPiece = 0
  #pieceOffset = 0
  /** Each run as `length * 4 + channel`, from `#firstRun` on. */
  #runs: number[] = []
  #firstRun = 0
  /** The last piece when it is our own slab, with `#slabUsed` bytes of it filled. */
  #slab: Buffer | null = null
  #slabUsed = 0

  get isEmpty(): boolean {
    return this.#firstRun === this.#runs.length
  }

  push(channel: OutputChannel, bytes: Buffer): void {
    const lastRun = this.#runs.at(-1)
    if (!this.isEmpty && lastRun !== undefined && (lastRun & 3) === channel) this.#runs[this.#runs.length - 1] = lastRun + bytes.length * 4
    else this.#runs.push(bytes.length * 4 + channel)
    this.#copy(bytes)
  }

  #copy(bytes: Buffer): void {
    let copied = 0
    while (copied < bytes.length) {
      if (this.#slab === null || this.#slabUsed === this.#slab.length) {
        this.#trimSlab()
        this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
        this.#slabUsed = 0
        this.#pieces.push(this.#slab)
      }
      const room = Math.min(this.#slab.length - this.#slabUsed, bytes.length - copied)
      bytes.copy(this.#slab, this.#slabUsed, copied, copied + room)
      this.#slabUsed += room
      copied += room
    }
  }

  /** The slab takes no more: what is filled of it becomes an ordinary piece. */
  #trimSlab(): void {
    if (this.#slab === null) return
    this.#pieces[this.#pieces.length - 1] = this.#slab.subarray(0, this.#slabUsed)
    this.#slab = null
  }

  /** The next bytes of one channel, as many as lie together. Only when not empty. */
  shift(): { readonly channel: OutputChannel; readonly bytes: Buffer } {
    const run = this.#runs[this.#firstRun] ?? 0
    const piece = this.#pieces[this.#firstPiece] ?? Buffer.alloc(0)
    const length = Math.min(run >> 2, piece.length - this.#pieceOffset)
    const bytes = piece.subarray(this.#pieceOffset, this.#pieceOffset + length)
    this.#pieceOffset += length
    if (this.#pieceOffset === piece.length) {
      this.#firstPiece += 1
      this.#pieceOffset = 0
    }
    if (run >> 2 === length) this.#firstRun += 1
    else this.#runs[this.#firstRun] = run - length * 4
    this.#compact()
    return { channel: (run & 3) === 1 ? 1 : 2, bytes }
  }

  #compact(): void {
    if (this.isEmpty) {
      this.clear()
    } else if (this.#firstRun + this.#firstPiece > 1_024 && this.#firstRun * 2 >= this.#runs.length) {
      this.#runs = this.#runs.slice(this.#firstRun)
      this.#pieces = this.#pieces.slice(this.#firstPiece)
      this.#firstRun = 0
      this.#firstPiece = 0
    }
  }

  clear(): void {
    this.#pieces = []
    this.#runs = []
    this.#firstPiece = 0
    this.#pieceOffset = 0
    this.#firstRun = 0
    this.#slab = null
  }
}
