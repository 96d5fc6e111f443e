/**
 * What takes long, said while it takes long: a spinner on a terminal, plain lines otherwise. Always on stderr.
 *
 * Nothing is shown for work that is done at once.
 */

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80
/** Work quicker than this needs no words. */
const PATIENCE_MS = 300

export interface Spinner {
  say(line: string): void
  /** Whole lines of somebody else; they do not end up in the spinner's line. */
  print(lines: string): void
  stop(): void
}

export function startSpinner(first: string, output: NodeJS.WriteStream = process.stderr): Spinner {
  return output.isTTY ? movingSpinner(first, output) : plainLines(output)
}

function movingSpinner(first: string, output: NodeJS.WriteStream): Spinner {
  let text = first
  let frame = 0
  let isShown = false
  const startedAt = performance.now()
  const timer = setInterval(() => {
    if (performance.now() - startedAt < PATIENCE_MS) return
    isShown = true
    frame = (frame + 1) % FRAMES.length
    output.write(`\r\u001B[2K${FRAMES[frame]} ${text.slice(0, Math.max(10, output.columns - 3))}`)
  }, FRAME_MS)
  return {
    say(line) {
      text = line
    },
    print(lines) {
      output.write(isShown ? `\r\u001B[2K${lines}` : lines)
    },
    stop() {
      clearInterval(timer)
      if (isShown) output.write('\r\u001B[2K')
      isShown = false
    },
  }
}

/** Says each step once: progress that differs only in its numbers is the same step. */
function plainLines(output: NodeJS.WriteStream): Spinner {
  const said = new Set<string>()
  return {
    say(line) {
      const step = line.replace(/[\d.]+/g, '#')
      if (said.has(step)) return
      said.add(step)
      output.write(`${line}\n`)
    },
    print: (lines) => void output.write(lines),
    stop() {},
  }
}
