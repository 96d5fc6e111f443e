/**
 * The keyboard as it is, key by key, and the terminal given back as it was: also after a crash and a signal.
 */
import { exitCodeOfSignal } from '../exit-code.ts'
import { setRaw } from './raw-mode.ts'

export interface RawKeyboard {
  /** Safe to call twice. */
  restore(): void
}

/** Signals that would end the program without a word. Ctrl-C is a key here, and comes as a signal only from outside. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

/** `onRestore` writes what else the terminal needs. A terminal that is none is left alone. */
export function rawKeyboard(onRestore: () => void): RawKeyboard {
  let isRaw = process.stdin.isTTY
  const restore = () => {
    process.off('exit', restore)
    for (const name of ENDING) process.off(name, end)
    if (!isRaw) return
    isRaw = false
    setRaw(false)
    onRestore()
  }
  const end = (name: NodeJS.Signals) => {
    restore()
    process.exit(exitCodeOfSignal(name))
  }
  setRaw(true)
  // Comes also when an error was not caught.
  process.on('exit', restore)
  for (const name of ENDING) process.on(name, end)
  return { restore }
}
