/**
 * The beginning of texts and of lists, in whole characters and whole items.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */

/** The first characters, at most `limit` of them. */
export function firstCharacters(text: string, limit: number): string {
  if (text.length <= limit) return text
  return Array.from(text.slice(0, limit * 2))
    .slice(0, limit)
    .join('')
}

/** As many items, from the first on, as fit into so many bytes with one more for each. */
export function firstThatFit<T>(items: readonly T[], limit: number, textOf: (item: T) => string): readonly T[] {
  let left = limit
  const end = items.findIndex((item) => {
    left -= Buffer.byteLength(textOf(item)) + 1
    return left < 0
  })
  return end < 0 ? items : items.slice(0, end)
}
