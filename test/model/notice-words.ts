/**
 * What a notice says, in the words of the model: why there is a new sandbox, and what became of the files.
 */
const REASONS = [
  ['after a time without work', 'idle'],
  ['suspended on request', 'caller'],
  ['stopped unexpectedly', 'sandbox_lost'],
  ['server was restarted', 'server_stopped'],
] as const

const FILES = [
  ['workspace are intact', 'intact'],
  ['could not be kept', 'lost'],
] as const

export function noticeWords(notice: string | null): string | null {
  if (notice === null) return null
  if (notice.includes('\n')) return `more than one line: ${notice}`
  const find = (table: readonly (readonly [string, string])[]) => table.find(([words]) => notice.includes(words))?.[1] ?? 'unclear'
  return `${find(REASONS)}, ${find(FILES)}`
}
