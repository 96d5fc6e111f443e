/**
 * A transcript as a picture of a terminal: SVG with text in it, in light or dark as whoever looks at it has it.
 */

const FONT_SIZE = 14
const LINE_HEIGHT = 20
/** Of the fonts below, with a little to spare: where a font is missing another must fit. */
const CHARACTER_WIDTH = 8.6
const PADDING = 20
const BAR_HEIGHT = 36
const COLUMNS = 100

const STYLE = `
    .window { fill: #ffffff; stroke: #d0d7de }
    .bar { fill: #f6f8fa }
    .dot { fill: #d0d7de }
    text { font: ${FONT_SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }
    .typed { fill: #1f2328; font-weight: 600 }
    .prompt { fill: #0969da }
    .printed { fill: #57606a }
    @media (prefers-color-scheme: dark) {
      .window { fill: #0d1117; stroke: #30363d }
      .bar { fill: #161b22 }
      .dot { fill: #30363d }
      .typed { fill: #e6edf3 }
      .prompt { fill: #58a6ff }
      .printed { fill: #9198a1 }
    }
`

export function drawTerminal(transcript: string, title: string): string {
  const lines = transcript.trimEnd().split('\n').flatMap(wrapped)
  const width = Math.ceil(COLUMNS * CHARACTER_WIDTH + 2 * PADDING)
  const height = BAR_HEIGHT + lines.length * LINE_HEIGHT + 2 * PADDING
  const dots = [0, 1, 2].map((index) => `<circle class="dot" cx="${PADDING + index * 20}" cy="18" r="6"/>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
  <title>${escaped(title)}</title>
  <style>${STYLE}  </style>
  <rect class="window" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10"/>
  <path class="bar" d="M1 ${BAR_HEIGHT}V11a10 10 0 0 1 10-10H${width - 11}a10 10 0 0 1 10 10V${BAR_HEIGHT}Z"/>
  ${dots.join('')}
${lines.map(drawLine).join('\n')}
</svg>
`
}

interface DrawnLine {
  readonly text: string
  readonly isTyped: boolean
  readonly isFirst: boolean
}

/** Where a terminal would break it. */
function wrapped(line: string): readonly DrawnLine[] {
  const isTyped = line.startsWith('$ ')
  const pieces = line === '' ? [''] : (line.match(new RegExp(`.{1,${COLUMNS}}`, 'gu')) ?? [])
  return pieces.map((text, index) => ({ text, isTyped, isFirst: index === 0 }))
}

function drawLine({ text, isTyped, isFirst }: DrawnLine, index: number): string {
  const y = BAR_HEIGHT + PADDING + index * LINE_HEIGHT + FONT_SIZE
  const hasPrompt = isTyped && isFirst
  const prompt = hasPrompt ? '<tspan class="prompt">$</tspan>' : ''
  return `  <text x="${PADDING}" y="${y}" xml:space="preserve" class="${isTyped ? 'typed' : 'printed'}">${prompt}${escaped(hasPrompt ? text.slice(1) : text)}</text>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
