/** Sizes as people write them (`512m`, `1.5 GiB`, `1048576`) to bytes. Units are powers of 1024; without one it is bytes. */

const POWERS: Readonly<Record<string, number>> = { '': 0, k: 1, m: 2, g: 3, t: 4 }

/** Answers `null` when the text is no size. */
export function parseByteSize(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text.trim())
  if (match === null) return null
  const power = POWERS[(match[2] ?? '').toLowerCase()]
  if (power === undefined) return null
  return Math.round(Number(match[1]) * 1024 ** power)
}
