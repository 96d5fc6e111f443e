/**
 * Text from elsewhere, made safe to show: keys, labels, file names and messages may hold anything, also what moves a terminal's cursor.
 */

/** Control characters, and those that change the direction in which text is read. */
const UNSHOWN = /[\p{Cc}\p{Cs}\u2028\u2029\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu

/** One line, whatever it was. */
export function printable(text: string): string {
  return text.replaceAll(UNSHOWN, (character) => {
    const code = character.codePointAt(0) ?? 0
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`
  })
}

/** The same with its line ends. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join('\n')
}

/** The same for JSON, and for YAML in double quotes, as their readers understand it; the lines stay. */
export function printableJson(text: string): string {
  const escaped = (line: string) => line.replaceAll(UNSHOWN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return text.split('\n').map(escaped).join('\n')
}

const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u
const WITHOUT_WIDTH = /\p{Mn}|\p{Me}|\p{Cf}/u

/** How many columns of a terminal it takes. */
export function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += WIDE.test(character) ? 2 : WITHOUT_WIDTH.test(character) ? 0 : 1
  return width
}

/** Its beginning, with an ellipsis where something was left out. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  let taken = 0
  for (const character of text) {
    taken += widthOf(character)
    if (taken > width - 1) break
    kept += character
  }
  return `${kept}…`
}
