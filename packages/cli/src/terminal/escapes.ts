/**
 * What is typed at a terminal, with the escapes of `ssh`: `~.` at the beginning of a line leaves, `~?` helps, `~~` is one `~`.
 */

export type Escape = 'detach' | 'help'

export interface Typed {
  /** For the program. */
  readonly bytes: Uint8Array
  readonly escape: Escape | null
}

const TILDE = 0x7e
const DOT = 0x2e
const QUESTION = 0x3f
/** Enter, and the keys that begin a line anew: Ctrl-C, Ctrl-U. */
const LINE_ENDS = [0x0a, 0x0d, 0x03, 0x15]

export interface EscapeReader {
  /** What comes after an escape that leaves is not looked at any more. */
  read(bytes: Uint8Array): readonly Typed[]
}

export function escapeReader(): EscapeReader {
  let isLineStart = true
  let isTildeHeld = false

  return {
    read(bytes) {
      const typed: Typed[] = []
      let passed: number[] = []
      const tell = (escape: Escape) => {
        typed.push({ bytes: Uint8Array.from(passed), escape })
        passed = []
      }
      for (const byte of bytes) {
        if (isTildeHeld) {
          isTildeHeld = false
          if (byte === DOT) {
            tell('detach')
            return typed
          }
          if (byte === QUESTION) {
            tell('help')
            continue
          }
          passed.push(TILDE)
          isLineStart = false
          if (byte === TILDE) continue
        } else if (isLineStart && byte === TILDE) {
          isTildeHeld = true
          continue
        }
        passed.push(byte)
        isLineStart = LINE_ENDS.includes(byte)
      }
      if (passed.length > 0) typed.push({ bytes: Uint8Array.from(passed), escape: null })
      return typed
    },
  }
}
