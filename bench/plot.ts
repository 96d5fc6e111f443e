/**
 * The results as one SVG: for each figure how much of its bar is used, so that figures of all units share one axis and shorter is better.
 *
 * Written by hand because it is sixty lines; colours follow the reader's light or dark scheme.
 */
import { shareOfBar, type Figure } from './figure.ts'
import { barText, resultText } from './figure-text.ts'
import type { Results } from './results.ts'

const WIDTH = 900
const LABEL_WIDTH = 300
const BAR_AREA_WIDTH = 360
const MARGIN = 24
const HEADER_HEIGHT = 104
const FOOTER_HEIGHT = 40
const ROW_HEIGHT = 18
const ROW_GAP = 3
const GROUP_GAP = 12
/** The axis ends here; a longer bar is cut and says so with its number. */
const MAX_SHARE = 1.5

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .quiet { fill: #656d76; }
  .missed { fill: #c4320a; font-weight: 600; }
  .grid { stroke: #d0d7de; }
  .limit { stroke: #1f2328; stroke-width: 1.5; stroke-dasharray: 4 3; }
  .docker { fill: #2f6feb; } .bubblewrap { fill: #1a9c86; } .podman { fill: #8957e5; } .nsjail { fill: #b08800; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #8b949e; } .missed { fill: #ff9b72; }
    .grid { stroke: #30363d; } .limit { stroke: #e6edf3; }
    .docker { fill: #58a6ff; } .bubblewrap { fill: #3fd0b6; } .podman { fill: #bc8cff; } .nsjail { fill: #e3b341; }
  }`

export function plot(results: Results): string {
  const groups = Object.values(Object.groupBy(results.figures.filter(hasBar), ({ id }) => id)).filter((group) => group !== undefined)
  const groupHeights = groups.map((group) => group.length * (ROW_HEIGHT + ROW_GAP) + GROUP_GAP)
  const bodyHeight = groupHeights.reduce((total, height) => total + height, 0)
  const height = HEADER_HEIGHT + bodyHeight + FOOTER_HEIGHT
  let top = HEADER_HEIGHT
  const body = groups.map((group, index) => {
    const drawn = drawGroup(group, top)
    top += groupHeights[index] ?? 0
    return drawn
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>Holdfast benchmark: each figure as a share of its bar</title>`,
    `<style>${STYLE}\n</style>`,
    header(results),
    axis(HEADER_HEIGHT - 8, HEADER_HEIGHT + bodyHeight),
    ...body,
    '</svg>',
    '',
  ].join('\n')
}

function hasBar(figure: Figure): boolean {
  return figure.bar !== null
}

function header({ machine, backends, figures }: Results): string {
  const kinds = [...new Set(figures.map(({ backend }) => backend))]
  const legend = kinds.map((kind, index) => {
    const x = MARGIN + LABEL_WIDTH + index * 180
    const version = backends.find((backend) => backend.kind === kind && 'version' in backend)
    const label = version !== undefined && 'version' in version ? `${kind} ${version.version}` : kind
    return `<rect class="${kind}" x="${x}" y="66" width="10" height="10" rx="2"/>${text(x + 15, 75, label)}`
  })
  const facts = `${machine.cores} cores, ${machine.memoryGigabytes} GB, Linux ${machine.kernel}, Node ${machine.node}`
  return [
    text(MARGIN, 26, 'How much of its bar each figure uses (shorter is better)', 'title'),
    text(MARGIN, 46, facts, 'quiet'),
    ...legend,
  ].join('\n')
}

function axis(top: number, bottom: number): string {
  const line = (share: number, name: string) => `<line class="${name}" x1="${barX(share)}" y1="${top}" x2="${barX(share)}" y2="${bottom}"/>`
  const label = (share: number, words: string) => text(barX(share), bottom + 16, words, 'quiet', 'middle')
  return [line(0, 'grid'), line(0.5, 'grid'), line(1, 'limit'), label(0, '0'), label(0.5, 'half'), label(1, 'the bar')].join('\n')
}

function drawGroup(group: readonly Figure[], top: number): string {
  const title = group[0]?.title.replaceAll('`', '') ?? ''
  const middle = top + (group.length * (ROW_HEIGHT + ROW_GAP)) / 2 + 3
  return [
    text(MARGIN + LABEL_WIDTH - 12, middle, title, undefined, 'end'),
    ...group.map((figure, index) => drawBar(figure, top + index * (ROW_HEIGHT + ROW_GAP))),
  ].join('\n')
}

function drawBar(figure: Figure, top: number): string {
  const share = Math.min(shareOfBar(figure) ?? 0, MAX_SHARE)
  const width = Math.max(barX(share) - barX(0), 1).toFixed(1)
  const isMissed = figure.met === false
  const words = `${resultText(figure)} (${barText(figure.bar, figure.unit)}${isMissed ? ', missed' : ''})`
  return [
    `<rect class="${figure.backend}" x="${barX(0)}" y="${top}" width="${width}" height="${ROW_HEIGHT}" rx="2"/>`,
    text(barX(MAX_SHARE) + 12, top + 13, words, isMissed ? 'missed' : 'quiet'),
  ].join('\n')
}

function barX(share: number): number {
  return MARGIN + LABEL_WIDTH + (share / MAX_SHARE) * BAR_AREA_WIDTH
}

function text(x: number, y: number, words: string, name?: string, anchor?: 'middle' | 'end'): string {
  const attributes = `${name === undefined ? '' : ` class="${name}"`}${anchor === undefined ? '' : ` text-anchor="${anchor}"`}`
  return `<text x="${Number(x.toFixed(1))}" y="${Number(y.toFixed(1))}"${attributes}>${escaped(words)}</text>`
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
