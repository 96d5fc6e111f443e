/**
 * A person at a terminal of a session: keys in, screen out, until the program ends, the person leaves, or contact is lost for good.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { HoldfastError } from '@holdfast/protocol/errors'
import type { CommandExit, ConnectOptions, Terminal, TerminalSize } from '@holdfast/sdk'
import { write } from '../output/print.ts'
import { escapeReader } from './escapes.ts'
import { rawKeyboard } from './raw-keyboard.ts'
import { replayFilter } from './replayed-queries.ts'
import { screenModes } from './screen-modes.ts'

/** Ctrl-D. */
const END_OF_TRANSMISSION = Uint8Array.of(4)
/** More than this is not taken from the keyboard while the server is away. */
const MOST_UNSENT = 65_536
/** How long the server is waited for by somebody who leaves. */
const LEAVE_MS = 3000

const HELP = ['Escapes, at the beginning of a line:', '  ~.  leave it running and detach', '  ~?  this help', '  ~~  one ~']

/** Throws unless there is a terminal to show it on. */
export function terminalSize(flag: string): TerminalSize {
  if (!process.stdout.isTTY) throw new HoldfastError('invalid_request', `${flag} needs a terminal, but stdout is none`)
  return currentSize()
}

/** A terminal that does not know its size says 0. */
function currentSize(): TerminalSize {
  return { cols: process.stdout.columns || 80, rows: process.stdout.rows || 24 }
}

/** In raw mode a new line is only a line down. */
function say(lines: readonly string[]): void {
  process.stderr.write(`\r\n${lines.map((line) => `holdfast: ${line}\r\n`).join('')}`)
}

/** How it ended. `hung up`: the person wanted to leave, and the server was not there to be told. */
export type VisitEnd = CommandExit | 'detached' | 'hung up'

/** `replayedBytes`: so much of its output was shown before. */
export async function visit(open: (options: ConnectOptions) => Promise<Terminal>, replayedBytes = 0): Promise<VisitEnd> {
  const replay = replayFilter(replayedBytes)
  const onGap = (skippedBytes: number) => {
    replay.skip(skippedBytes)
    say([`${skippedBytes} bytes of its output are not kept any more`])
  }
  const terminal = await open({ onGap })
  const modes = screenModes()
  const keyboard = rawKeyboard(() => process.stdout.write(modes.undoing()))
  const resize = () => void terminal.resize(currentSize()).catch(() => undefined)
  process.stdout.on('resize', resize)
  const typing = type(terminal)
  try {
    for await (const bytes of terminal) {
      modes.watch(bytes)
      await write(replay.pass(bytes))
    }
    return (await terminal.wait()) ?? (typing.hasHungUp() ? 'hung up' : 'detached')
  } finally {
    typing.stop()
    process.stdout.off('resize', resize)
    keyboard.restore()
  }
}

function type(terminal: Terminal): { hasHungUp(): boolean; stop(): void } {
  const stdin: AsyncIterable<Buffer> & { destroy(): void } = process.stdin
  const escapes = escapeReader()
  let unsentBytes = 0
  let sent = Promise.resolve()
  let isHungUp = false

  /** Keys wait for a server that is away, but not the person who wants to leave. */
  async function press(bytes: Uint8Array): Promise<void> {
    unsentBytes += bytes.length
    sent = sent.then(() => terminal.write(bytes)).finally(() => (unsentBytes -= bytes.length))
    sent.catch(() => undefined)
    if (unsentBytes > MOST_UNSENT) await sent
  }

  async function leave(): Promise<void> {
    const patience = new AbortController()
    const late = delay(LEAVE_MS, true, { signal: patience.signal }).catch(() => false)
    isHungUp = await Promise.race([sent.then(() => terminal.detach()).then(() => false), late])
    patience.abort()
    if (isHungUp) terminal.close()
  }

  const send = async () => {
    for await (const typed of stdin)
      for (const { bytes, escape } of escapes.read(typed)) {
        if (bytes.length > 0) await press(bytes)
        if (escape === 'help') say(HELP)
        if (escape === 'detach') return leave()
      }
    // A pipe has ended; a terminal's input ends with a key.
    return press(END_OF_TRANSMISSION)
  }
  // Decision: what cannot be typed any more is told by the end of the terminal.
  send().catch(() => undefined)
  return { hasHungUp: () => isHungUp, stop: () => stdin.destroy() }
}
