/**
 * What came of the work so far: how often, how long, how often not. Lines for people while it goes on, a table at the end.
 */
import { quantile } from '../../bench/statistics.ts'
import { DEEDS } from './workload.ts'
import type { Deed, Witness } from './workload.ts'

export interface Figures {
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly most: number
}

export interface Ledger extends Witness {
  /** One of the rude clients has done its worst. */
  misbehaved(name: string): void
  /** Those of commands since the last call. */
  sinceLast(): Figures
  figures(): Readonly<Record<Deed, Figures>>
  /** How often each failed, by what was said. */
  readonly failures: ReadonlyMap<string, number>
  readonly misdeeds: ReadonlyMap<string, number>
}

const SHOWN_CHARACTERS = 300

export function createLedger(): Ledger {
  const times = new Map<Deed, number[]>(DEEDS.map((deed) => [deed, []]))
  const failures = new Map<string, number>()
  const misdeeds = new Map<string, number>()
  let recent: number[] = []
  const count = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
  return {
    done(deed, milliseconds) {
      times.get(deed)?.push(milliseconds)
      if (deed === 'command') recent.push(milliseconds)
    },
    failed(deed, error) {
      // What differs from one to the next would make many out of one kind.
      const words = String(error instanceof Error ? error.message : error).replaceAll(/(ses|exe|req)_\w+/g, '$1_…')
      count(failures, `${deed}: ${words.slice(0, SHOWN_CHARACTERS)}`)
    },
    misbehaved: (name) => void count(misdeeds, name),
    sinceLast() {
      const figures = figuresOf(recent)
      recent = []
      return figures
    },
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every deed has its times
    figures: () => Object.fromEntries(DEEDS.map((deed) => [deed, figuresOf(times.get(deed) ?? [])])) as Record<Deed, Figures>,
    failures,
    misdeeds,
  }
}

function figuresOf(samples: readonly number[]): Figures {
  if (samples.length === 0) return { count: 0, p50: 0, p95: 0, p99: 0, most: 0 }
  const at = (share: number) => Math.round(quantile(samples, share) * 10) / 10
  return { count: samples.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), most: at(1) }
}
