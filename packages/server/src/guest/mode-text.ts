/**
 * Permission bits as applets take them: octal.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { invalid } from './require.ts'

const MAX_MODE = 0o7777

export function modeText(mode: number): string {
  if (!Number.isInteger(mode) || mode < 0 || mode > MAX_MODE) throw invalid(`mode must be permission bits from 0 to 0o7777, but is ${mode}`)
  return mode.toString(8)
}
