/**
 * A counter with one label of known values, whose series are bound once and begin at zero: a rate over something that never happened is 0.
 *
 * Stands beside the flow.
 */
import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'

export interface CountedBy {
  readonly name: string
  readonly help: string
  readonly label: string
}

/** Counts one more of a value. */
export function countedBy<V extends string>(
  registry: Registry,
  values: readonly V[],
  { name, help, label }: CountedBy,
): (value: V) => void {
  const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
  const series = new Map<V, Counter.Internal>(values.map((value) => [value, counter.labels(value)]))
  for (const each of series.values()) each.inc(0)
  return (value) => series.get(value)?.inc()
}
