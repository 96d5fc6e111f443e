/**
 * The outcome of one run, as kept in `results/` and shown everywhere else.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BackendKind } from '../packages/server/src/sandboxes/backend.ts'
import type { Figure } from './figure.ts'
import type { MachineFacts } from './machine-facts.ts'
import { plot } from './plot.ts'
import { rounded } from './statistics.ts'

export type BackendOutcome =
  | { readonly kind: BackendKind; readonly version: string; readonly missingLimits: readonly string[] }
  | { readonly kind: BackendKind; readonly skipReason: string }

export interface Results {
  readonly version: 1
  readonly date: string
  readonly isQuick: boolean
  readonly machine: MachineFacts
  readonly backends: readonly BackendOutcome[]
  readonly figures: readonly Figure[]
}

const DIRECTORY = join(import.meta.dirname, 'results')

/** Only a whole run is `latest`; any other is `partial`, so that a quick look never replaces what is published. */
export type ResultsName = 'latest' | 'partial'

export function writeResults(name: ResultsName, results: Results): void {
  mkdirSync(DIRECTORY, { recursive: true })
  const shortened = JSON.stringify(results, (_key, value: unknown) => (typeof value === 'number' ? rounded(value, 4) : value), 2)
  writeFileSync(join(DIRECTORY, `${name}.json`), `${shortened}\n`)
  writeFileSync(join(DIRECTORY, `${name}.svg`), plot(results))
}

export function readLatestResults(): Results {
  const path = join(DIRECTORY, 'latest.json')
  if (!existsSync(path)) throw new Error('there are no results of a whole run yet; make one with `npm run bench`')
  const results: Results = JSON.parse(readFileSync(path, 'utf8'))
  return results
}
