/**
 * One figure of the benchmark: what was measured, against what, and whether that is good enough.
 */
import type { BackendKind } from '../packages/server/src/sandboxes/backend.ts'

export type Unit = 'ms' | 's' | 'MB/s' | 'commands/s' | 'calls/s' | 'MB' | 'kB' | '%'

/** What the figure must keep to: its ratio to the reference, or its own value. */
export interface Bar {
  readonly of: 'ratio' | 'value'
  readonly at: 'most' | 'least'
  readonly limit: number
}

/** As a measure reports it. Decimal units: a MB has a million bytes. */
export interface Measured {
  readonly id: string
  readonly title: string
  readonly value: number
  readonly unit: Unit
  readonly samples: number
  /** Measured in the same run, in turn with the figure itself; in the same unit. */
  readonly reference: { readonly title: string; readonly value: number } | null
  /** `null`: worth knowing, but nothing was promised. */
  readonly bar: Bar | null
}

export interface Figure extends Measured {
  readonly backend: BackendKind
  readonly ratio: number | null
  readonly met: boolean | null
}

export function judged(backend: BackendKind, measured: Measured): Figure {
  const ratio = measured.reference === null ? null : measured.value / measured.reference.value
  return { ...measured, backend, ratio, met: measured.bar === null ? null : isMet(measured.bar, ratio, measured.value) }
}

function isMet(bar: Bar, ratio: number | null, value: number): boolean {
  const judgedValue = bar.of === 'ratio' ? ratio : value
  if (judgedValue === null) throw new TypeError('a bar for a ratio needs a reference')
  return bar.at === 'most' ? judgedValue <= bar.limit : judgedValue >= bar.limit
}

/** How much of the allowance is used: 1 is the bar itself, less is better, whichever way the bar points. */
export function shareOfBar(figure: Figure): number | null {
  if (figure.bar === null) return null
  const value = figure.bar.of === 'ratio' ? (figure.ratio ?? Number.NaN) : figure.value
  return figure.bar.at === 'most' ? value / figure.bar.limit : figure.bar.limit / value
}
