/**
 * What the set-up tells the person who waits: a spinner on a terminal, plain lines elsewhere.
 *
 * Everything goes to stderr, so that `npm run holdfast -- …` keeps stdout for the command's own output.
 */

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const isTerminal = process.stderr.isTTY

/** A failure that the message alone explains; it is shown without a stack. */
export class SetUpError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message)
    this.name = 'SetUpError'
  }
}

/** @param {string} line */
export function say(line) {
  process.stderr.write(`${line}\n`)
}

/**
 * Shows that `work` is going on and how long it took.
 *
 * @template T
 * @param {string} what what is done and why, in plain words
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(what, work) {
  const startedAtMs = performance.now()
  const stop = isTerminal ? spin(what) : announce(what)
  try {
    const result = await work()
    stop(`✓ ${what} (${((performance.now() - startedAtMs) / 1000).toFixed(1)} s)`)
    return result
  } catch (error) {
    stop(`✗ ${what}`)
    throw error
  }
}

/** @param {string} what */
function announce(what) {
  say(`${what} …`)
  return say
}

/** @param {string} what */
function spin(what) {
  let turn = 0
  const draw = () => process.stderr.write(`\r\x1b[2K${SPINNER[turn++ % SPINNER.length]} ${what}`)
  draw()
  const timer = setInterval(draw, 80)
  return (/** @type {string} */ line) => {
    clearInterval(timer)
    process.stderr.write(`\r\x1b[2K${line}\n`)
  }
}
