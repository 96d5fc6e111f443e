/**
 * Text the guest or a program in the sandbox chose, made fit for an error message: one line, short, printable.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
const MAX_CHARACTERS = 500

export function guestText(text: string): string {
  const printable = text
    .slice(0, MAX_CHARACTERS)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, ' ')
    .trim()
  return text.length > MAX_CHARACTERS ? `${printable}…` : printable
}
