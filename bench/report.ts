/**
 * The run on a terminal: a line per figure as it comes, a table at the end.
 */
import type { Figure } from './figure.ts'
import { barText, quantityText, resultText } from './figure-text.ts'
import type { Results } from './results.ts'

/** `bubblewrap  warm sh -c true, p50  0.48× (bar ≤ 0.7×: met)`. */
export function figureLine(figure: Figure): string {
  const verdict = figure.bar === null ? '' : ` (bar ${barText(figure.bar, figure.unit)}: ${verdictText(figure)})`
  return `${figure.backend}: ${plainTitle(figure)}: ${resultText(figure)}${verdict}`
}

export function reportTable({ figures, backends }: Results): string {
  const header = ['backend', 'work', 'result', 'bar', '', 'measured', 'reference', 'n']
  const rows = figures.map((figure) => [
    figure.backend,
    plainTitle(figure),
    resultText(figure),
    barText(figure.bar, figure.unit),
    verdictText(figure),
    quantityText(figure.value, figure.unit),
    figure.reference === null ? '' : `${quantityText(figure.reference.value, figure.unit)} (${figure.reference.title})`,
    String(figure.samples),
  ])
  return [...aligned([header, ...rows]), ...backends.flatMap(remarks), summary(figures)].join('\n')
}

function remarks(backend: Results['backends'][number]): readonly string[] {
  if ('skipReason' in backend) return [`${backend.kind} was skipped: ${backend.skipReason}`]
  if (backend.missingLimits.length === 0) return []
  return [`${backend.kind} cannot limit ${backend.missingLimits.join(', ')} here, so its sandboxes ran without`]
}

function summary(figures: readonly Figure[]): string {
  const missed = figures.filter(({ met }) => met === false)
  const promised = figures.filter(({ met }) => met !== null).length
  if (missed.length === 0) return `all ${promised} bars are met`
  return `${missed.length} of ${promised} bars are MISSED: ${missed.map((figure) => `${figure.backend} ${figure.id}`).join(', ')}`
}

function verdictText({ met }: Figure): string {
  if (met === null) return ''
  return met ? 'met' : 'MISSED'
}

function plainTitle({ title }: Figure): string {
  return title.replaceAll('`', '')
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
