/**
 * Output whose every byte is known from its place, so that a gap or a repetition cannot hide.
 *
 * Line n is n in eight digits and a line feed: nine bytes, from 0 on.
 */
const LINE_BYTES = 9

/** Prints lines for ever: slowly, or as fast as it can. Needs nothing but a shell. */
export function printingScript(speed: 'slow' | 'fast'): string {
  const pause = speed === 'slow' ? 'sleep 0.02' : ':'
  return `n=0; while :; do printf '%08d\\n' $n; n=$((n+1)); ${pause}; done`
}

/** The byte that must stand at this place of the output. */
export function expectedBytes(from: number, length: number): string {
  const firstLine = Math.floor(from / LINE_BYTES)
  const lastLine = Math.floor((from + length) / LINE_BYTES)
  let text = ''
  for (let line = firstLine; line <= lastLine; line++) text += `${String(line).padStart(8, '0')}\n`
  const skipped = from - firstLine * LINE_BYTES
  return text.slice(skipped, skipped + length)
}
