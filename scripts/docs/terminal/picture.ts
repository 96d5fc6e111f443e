/** The picture of the README: where it lies, and how it comes from its transcript. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { drawTerminal } from './draw.ts'

export const TRANSCRIPT = fileURLToPath(new URL('../../../docs/images/terminal.txt', import.meta.url))
export const PICTURE = fileURLToPath(new URL('../../../docs/images/terminal.svg', import.meta.url))

export function pictureOf(transcript = readFileSync(TRANSCRIPT, 'utf8')): string {
  return drawTerminal(
    transcript,
    'A terminal: the server is killed and started again, and the sandbox with its file and its process is still there',
  )
}
