/**
 * The command line of the benchmark.
 */
import { parseArgs } from 'node:util'
import { BACKEND_KINDS, type BackendKind } from '../packages/server/src/sandboxes/backend.ts'
import { MEASURES } from './measures/all.ts'

export interface BenchOptions {
  readonly kinds: readonly BackendKind[]
  readonly measures: readonly string[]
  readonly isQuick: boolean
  readonly isStrict: boolean
  /** Only write the README's table from the last whole run. */
  readonly isReadmeOnly: boolean
  /** Everything that is published was measured. */
  readonly isWhole: boolean
}

/** What was promised for. */
const DEFAULT_KINDS: readonly BackendKind[] = ['docker', 'bubblewrap']
const MEASURE_NAMES = MEASURES.map(({ name }) => name)

export const USAGE = `npm run bench -- [options]

Measures Holdfast against the same work on the host, in one run, on ${DEFAULT_KINDS.join(' and ')}.

  --backend KIND  only this backend (${BACKEND_KINDS.join(', ')}); may be repeated
  --all           every backend that this machine has
  --only NAME     only this measure (${MEASURE_NAMES.join(', ')}); may be repeated
  --quick         few runs: shows that it works, not how fast it is
  --strict        exit code 1 when a bar is missed
  --readme        measure nothing; write the README's table from the last whole run

A whole run writes bench/results/latest.json, latest.svg and the table in README.md; any other writes bench/results/partial.*.`

/** Throws a TypeError with one sentence for an option that means nothing. */
export function parseOptions(args: readonly string[]): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      backend: { type: 'string', multiple: true },
      all: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      readme: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return 'help'
  const kinds = values.backend?.flatMap(listed).map(backendKind) ?? (values.all ? BACKEND_KINDS : DEFAULT_KINDS)
  const measures = values.only?.flatMap(listed).map(measureName) ?? MEASURE_NAMES
  const isWhole = !values.quick && values.only === undefined && DEFAULT_KINDS.every((kind) => kinds.includes(kind))
  return { kinds, measures, isQuick: values.quick, isStrict: values.strict, isReadmeOnly: values.readme, isWhole }
}

function listed(text: string): readonly string[] {
  return text.split(',')
}

function backendKind(text: string): BackendKind {
  const kind = BACKEND_KINDS.find((candidate) => candidate === text)
  if (kind === undefined) throw new TypeError(`there is no backend '${text}'; there are: ${BACKEND_KINDS.join(', ')}`)
  return kind
}

function measureName(text: string): string {
  if (!MEASURE_NAMES.includes(text)) throw new TypeError(`there is no measure '${text}'; there are: ${MEASURE_NAMES.join(', ')}`)
  return text
}
