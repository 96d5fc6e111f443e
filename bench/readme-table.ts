/**
 * The table of figures in the README, between two markers, written from the results and by nobody's hand.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Figure } from './figure.ts'
import { barText, quantityText, resultText } from './figure-text.ts'
import type { Results } from './results.ts'

const BEGIN = '<!-- bench:begin -->'
const END = '<!-- bench:end -->'

/** Markdown: one row per figure, one column per backend. */
export function readmeTable(results: Results): string {
  const kinds = [...new Set(results.figures.map(({ backend }) => backend))]
  const rows = Object.values(Object.groupBy(results.figures, ({ id }) => id)).filter((row) => row !== undefined)
  return [
    `| Work | Bar | ${kinds.join(' | ')} |`,
    `|---|---|${kinds.map(() => '---').join('|')}|`,
    ...rows.map((row) => {
      const cells = kinds.map((kind) => cell(row.find(({ backend }) => backend === kind)))
      return `| ${row[0]?.title ?? ''} | ${sharedBar(row)} | ${cells.join(' | ')} |`
    }),
    '',
    footnote(results),
  ].join('\n')
}

/** The text with its table replaced; `null` when the markers are missing or in the wrong order. */
export function withTable(readme: string, table: string): string | null {
  const begin = readme.indexOf(BEGIN)
  const end = readme.indexOf(END)
  if (begin < 0 || end < begin) return null
  return `${readme.slice(0, begin + BEGIN.length)}\n${table}\n${readme.slice(end)}`
}

/** Says what happened, in one sentence. */
export function writeReadmeTable(path: string, results: Results): string {
  if (!existsSync(path)) return 'there is no README.md, so no table was written'
  const readme = withTable(readFileSync(path, 'utf8'), readmeTable(results))
  if (readme === null) return `README.md lacks the markers ${BEGIN} and ${END}, so no table was written`
  writeFileSync(path, readme)
  return 'the table in README.md is up to date'
}

/** What the bar judges, and what was measured; in bold where the bar is missed. */
function cell(figure: Figure | undefined): string {
  if (figure === undefined) return ''
  const result = figure.met === false ? `**${resultText(figure)}, missed**` : resultText(figure)
  const isPlain = resultText(figure) === quantityText(figure.value, figure.unit)
  return isPlain ? result : `${result} (${quantityText(figure.value, figure.unit)})`
}

/** A bar may be promised for one backend only. */
function sharedBar(row: readonly Figure[]): string {
  const promised = row.find(({ bar }) => bar !== null) ?? row[0]
  return promised === undefined ? '' : barText(promised.bar, promised.unit)
}

function footnote({ date, isQuick, machine, backends }: Results): string {
  const versions = backends.map((backend) =>
    'version' in backend ? `${backend.kind} ${backend.version}` : `${backend.kind} skipped: ${backend.skipReason}`,
  )
  const where = `${machine.cores} cores, ${machine.memoryGigabytes} GB, Linux ${machine.kernel}, Node ${machine.node}`
  const kind = isQuick ? 'a quick run' : '`npm run bench`'
  const disturbance = machine.loadBefore > machine.cores / 2 ? `; other work was going on (load ${machine.loadBefore})` : ''
  return `× is against the same work on the host (or, for engines’ cold starts, the engine’s own create + start) in the same run. From ${kind} on ${date.slice(0, 10)}: ${where}; ${versions.join('; ')}${disturbance}.`
}
