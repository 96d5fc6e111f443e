/**
 * How a program ended, as one number: its own, or that of the signal as shells count it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { signalNumber } from '../../../guest/signals.ts'

const SIGNAL_BASE = 128

/** `null` when nobody knows. */
export function exitCodeOf({ exitCode, signal }: { readonly exitCode: number | null; readonly signal: string | null }): number | null {
  if (exitCode !== null || signal === null) return exitCode
  return SIGNAL_BASE + signalNumber(signal)
}
