/**
 * Reads the text format of Prometheus, and refuses whatever a strict reader might.
 *
 * Stands beside the flow; for tests. Families stand together, each with its help and its type before its first sample; no series comes twice;
 * histograms add up.
 */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly help: string
  readonly type: string
  readonly samples: readonly Sample[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? ([^ ]+)$`)
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/
const TYPES = ['counter', 'gauge', 'histogram']

export function parseExposition(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const families = new Map<string, { help: string; type: string; samples: Sample[] }>()
  const seen = new Set<string>()
  let current = ''
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, word, about = '', rest = ''] = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`).exec(line) ?? []
    if (word === 'HELP') {
      if (families.has(about)) throw new Error(`${about} is there twice`)
      families.set(about, { help: rest, type: '', samples: [] })
      current = about
    } else if (word === 'TYPE') {
      const family = families.get(about)
      if (family === undefined || about !== current || family.type !== '') throw new Error(`the type of ${about} is out of place`)
      if (!TYPES.includes(rest)) throw new Error(`${about} has the type ${rest}`)
      family.type = rest
    } else {
      const sample = parseSample(line)
      const series = `${sample.name} ${labelsOf(sample.labels)}`
      if (seen.has(series)) throw new Error(`${series} is there twice`)
      seen.add(series)
      const family = families.get(current)
      if (family === undefined || family.type === '') throw new Error(`${sample.name} has no type`)
      if (!suffixes(family.type).some((suffix) => `${current}${suffix}` === sample.name))
        throw new Error(`${sample.name} stands among ${current}`)
      family.samples.push(sample)
    }
  }
  for (const [name, { type, samples }] of families) {
    if (type === 'counter' && samples.some(({ value }) => value < 0)) throw new Error(`${name} is below zero`)
    if (type === 'histogram') checkHistogram(name, samples)
  }
  return families
}

function suffixes(type: string): readonly string[] {
  return type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
}

function parseSample(line: string): Sample {
  const [, name, inBraces = '', number] = SAMPLE.exec(line) ?? []
  if (name === undefined || number === undefined) throw new Error(`not a sample: ${line}`)
  const value = numberOf(number)
  const labels: Record<string, string> = {}
  for (let rest = inBraces; rest !== '';) {
    const [whole, label, text] = LABEL.exec(rest) ?? []
    if (whole === undefined || label === undefined || text === undefined || label in labels) throw new Error(`not labels: ${line}`)
    labels[label] = text.replaceAll(/\\(.)/g, (_all, escaped: string) => (escaped === 'n' ? '\n' : escaped))
    rest = rest.slice(whole.length)
  }
  return { name, labels, value }
}

/** As Go's ParseFloat, which the format names, reads it: the words in any case. */
function numberOf(text: string): number {
  if (/^nan$/i.test(text)) return Number.NaN
  if (/^\+?inf$/i.test(text)) return Number.POSITIVE_INFINITY
  if (!/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) throw new Error(`not a number: ${text}`)
  return Number(text)
}

/** Buckets grow, and the last one holds everything. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const without = ({ le: _bound, ...labels }: Readonly<Record<string, string>>) => labelsOf(labels)
  for (const series of Map.groupBy(samples, ({ labels }) => without(labels)).values()) {
    const buckets = series.filter((sample) => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels }) => (labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le'])))
    const isGrowing = (values: readonly number[]) => values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0))
    if (bounds.some(Number.isNaN) || new Set(bounds).size !== bounds.length || !isGrowing(bounds)) throw new Error(`${name}: bounds`)
    if (!isGrowing(buckets.map(({ value }) => value))) throw new Error(`${name}: buckets are not cumulative`)
    const count = series.find((sample) => sample.name === `${name}_count`)?.value
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || count === undefined || buckets.at(-1)?.value !== count)
      throw new Error(`${name}: the last bucket is not the count`)
    if (!series.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name} has no sum`)
  }
}

/** The same text for the same labels. */
function labelsOf(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** The value of one series, by its name and all of its labels; `undefined` when it is not there. */
export function valueOf(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const wanted = labelsOf(labels)
  for (const { samples } of families.values()) {
    const found = samples.find((sample) => sample.name === name && labelsOf(sample.labels) === wanted)
    if (found !== undefined) return found.value
  }
  return undefined
}
