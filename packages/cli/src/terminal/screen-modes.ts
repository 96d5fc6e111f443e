/**
 * Modes that a program has switched on in the terminal and not off again, so that a person who leaves in its middle gets a usable
 * terminal back: the other screen, the mouse, bracketed paste, a hidden cursor.
 */

const ESCAPE = '\u001B'
/** Those that disturb whoever comes next. A hidden cursor is the mode 25 switched off. */
const DISTURBING = new Set(['1', '9', '47', '1000', '1001', '1002', '1003', '1004', '1005', '1006', '1015', '1047', '1049', '2004'])
const CURSOR = '25'
const LONGEST_SEQUENCE = 64
// oxlint-disable-next-line no-control-regex -- escape sequences begin with this one
const MODE_CHANGE = /\u001B\[\?([\d;]+)([hl])/g
// oxlint-disable-next-line no-control-regex -- the same
const UNFINISHED = /^\u001B(\[(\?[\d;]*)?)?$/

export interface ScreenModes {
  watch(bytes: Uint8Array): void
  /** What to write to switch everything off that is still on. */
  undoing(): string
}

export function screenModes(): ScreenModes {
  const on = new Set<string>()
  let isCursorHidden = false
  let unfinished = ''

  function take(modes: string, isOn: boolean): void {
    for (const mode of modes.split(';')) {
      if (mode === CURSOR) isCursorHidden = !isOn
      else if (!DISTURBING.has(mode)) continue
      else if (isOn) on.add(mode)
      else on.delete(mode)
    }
  }

  return {
    watch(bytes) {
      const text = unfinished + Buffer.from(bytes).toString('latin1')
      for (const [, modes = '', letter] of text.matchAll(MODE_CHANGE)) take(modes, letter === 'h')
      const start = text.lastIndexOf(ESCAPE)
      const tail = start < 0 ? '' : text.slice(start)
      // A sequence may be cut where a piece ends.
      unfinished = tail.length < LONGEST_SEQUENCE && UNFINISHED.test(tail) ? tail : ''
    },
    undoing() {
      const modes = [...on].map((mode) => `${ESCAPE}[?${mode}l`).join('')
      return `${modes}${isCursorHidden ? `${ESCAPE}[?${CURSOR}h` : ''}${on.size > 0 || isCursorHidden ? `${ESCAPE}[0m` : ''}`
    },
  }
}
