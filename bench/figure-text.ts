/**
 * Figures and bars in words, the same on the terminal, in the README and in the plot.
 */
import type { Bar, Figure, Unit } from './figure.ts'

/** What the bar judges (`0.52×`, `0.51 s`); the ratio where there is one and no bar says otherwise. */
export function resultText(figure: Figure): string {
  const isRatio = figure.bar === null ? figure.ratio !== null : figure.bar.of === 'ratio'
  return isRatio && figure.ratio !== null ? `${numberText(figure.ratio)}×` : quantityText(figure.value, figure.unit)
}

/** `≤ 0.7×`, or a dash where nothing was promised. */
export function barText(bar: Bar | null, unit: Unit): string {
  if (bar === null) return '–'
  const limit = bar.of === 'ratio' ? `${bar.limit}×` : `${bar.limit} ${unit}`
  return `${bar.at === 'most' ? '≤' : '≥'} ${limit}`
}

export function quantityText(value: number, unit: Unit): string {
  return `${numberText(value)} ${unit}`
}

/** Three digits, without an exponent. */
function numberText(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  const digitsBefore = Math.abs(value) >= 10 ? 2 : 1
  return Math.abs(value) >= 0.1 || value === 0 ? value.toFixed(3 - digitsBefore) : String(Number(value.toPrecision(2)))
}
