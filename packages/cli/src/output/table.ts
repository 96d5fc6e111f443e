/**
 * Rows in aligned columns: as wide as a terminal at most, whole when nobody looks.
 */
import { cutTo, printable, widthOf } from './printable.ts'
import type { Tint } from './tint.ts'

export interface Column<T> {
  readonly title: string
  of(item: T): string
  /** May be cut short where the terminal is too narrow; the one with most to lose is cut first. */
  readonly isFlexible?: boolean
  tint?(item: T): Tint
}

export interface Surface {
  /** `null`: as wide as need be. */
  readonly width: number | null
  paint(tint: Tint, text: string): string
}

export const PLAIN: Surface = { width: null, paint: (_, text) => text }
const GAP = '  '
const NARROWEST = 8

export function table<T>(items: readonly T[], columns: readonly Column<T>[], { width, paint }: Surface = PLAIN): string {
  const rows = items.map((item) => columns.map((column) => printable(column.of(item))))
  const titles = columns.map(({ title }) => title)
  const widths = titles.map((title, at) => Math.max(widthOf(title), ...rows.map((row) => widthOf(row[at] ?? ''))))
  if (width !== null) narrow(widths, columns, width)
  const line = (cells: readonly string[], tintOf: (at: number) => Tint) =>
    cells
      .map((cell, at) => {
        const shown = cutTo(cell, widths[at] ?? 0)
        const isLast = at === cells.length - 1
        return paint(tintOf(at), shown) + (isLast ? '' : ' '.repeat(Math.max(0, (widths[at] ?? 0) - widthOf(shown))))
      })
      .join(GAP)
      .trimEnd()
  const head = line(titles, () => 'bold')
  const body = items.map((item, row) => line(rows[row] ?? [], (at) => columns[at]?.tint?.(item) ?? 'none'))
  return [head, ...body].map((text) => `${text}\n`).join('')
}

/** Takes from the widest flexible column until all fit, or nothing can be taken any more. */
function narrow<T>(widths: number[], columns: readonly Column<T>[], width: number): void {
  const total = () => widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1))
  for (let excess = total() - width; excess > 0; excess = total() - width) {
    const flexible = columns.flatMap(({ isFlexible }, at) => (isFlexible === true && (widths[at] ?? 0) > NARROWEST ? [at] : []))
    const widest = flexible.toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0]
    if (widest === undefined) return
    const next = Math.max(NARROWEST, ...flexible.filter((at) => at !== widest).map((at) => widths[at] ?? 0))
    const own = widths[widest] ?? 0
    widths[widest] = Math.max(NARROWEST, Math.min(own - 1, Math.max(own - excess, next)))
  }
}

/** Names and values, one a line. */
export function facts(rows: readonly (readonly [string, string])[], { paint }: Surface = PLAIN): string {
  const width = Math.max(0, ...rows.map(([name]) => widthOf(name)))
  return rows
    .map(([name, value]) => `${paint('bold', printable(name))}${' '.repeat(width - widthOf(name))}${GAP}${printable(value)}`.trimEnd())
    .map((text) => `${text}\n`)
    .join('')
}
