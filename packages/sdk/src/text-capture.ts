/**
 * The beginning of a stream of text, kept up to a limit: as much as the server's own answer carries.
 */

const LIMIT_CHARACTERS = 1024 * 1024

export interface TextCapture {
  add(text: string): void
  /** Something of it was never seen. */
  miss(): void
  text(): string
  isTruncated(): boolean
}

export function createTextCapture(limit = LIMIT_CHARACTERS): TextCapture {
  const pieces: string[] = []
  let left = limit
  let isTruncated = false
  return {
    add(text) {
      isTruncated ||= text.length > left
      if (left === 0) return
      const kept = text.slice(0, left)
      pieces.push(kept)
      left -= kept.length
    },
    miss() {
      isTruncated = true
    },
    text: () => pieces.join(''),
    isTruncated: () => isTruncated,
  }
}
