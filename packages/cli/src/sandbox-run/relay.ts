/**
 * The terminal's bytes to the command and back, exactly: stdin, stdout, stderr, signals, window size.
 */
import { once } from 'node:events'
import { HoldfastError, isHoldfastError } from '@holdfast/protocol/errors'
import type { ExecExit, Execution, OutputChunk, TerminalSize } from '@holdfast/server'
import { isBrokenPipe } from '../exit-code.ts'
import { setRaw } from '../terminal/raw-mode.ts'

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

export interface RelayOptions {
  readonly passStdin: boolean
  readonly isTerminal: boolean
}

/** Resolves with the end once everything printed has been handed to our own stdout and stderr. */
export async function relay(execution: Execution, { passStdin, isTerminal }: RelayOptions): Promise<ExecExit> {
  const stopForwarding = forwardSignals(execution)
  const stopStdin = passStdin ? sendStdin(execution) : () => {}
  const stopTerminal = isTerminal ? followTerminal(execution) : () => {}
  try {
    return await execution.drain(writeChunk)
  } catch (error) {
    if (isHoldfastError(error) || !isBrokenPipe(error)) throw error
    await execution.kill()
    return { exitCode: null, signal: 'SIGPIPE', timedOut: false, killed: true, survivors: false, durationMs: 0 }
  } finally {
    stopTerminal()
    stopStdin()
    stopForwarding()
  }
}

/** Waits for a slow reader, so that memory stays bounded and the program feels the back-pressure. */
function writeChunk({ channel, bytes }: OutputChunk): void | Promise<void> {
  const output = channel === 'stdout' ? process.stdout : process.stderr
  if (output.errored) throw output.errored
  // The stream may keep them beyond this call; the chunk does not last that long.
  if (output.write(Buffer.from(bytes))) return
  return once(output, 'drain').then(() => {})
}

/** The first signal goes to the command; a second one of the same kind ends it for certain. */
function forwardSignals(execution: Execution): () => void {
  const seen = new Set<string>()
  const forward = (signal: NodeJS.Signals) => {
    const isRepeated = seen.has(signal)
    seen.add(signal)
    // Decision: a signal that meets an ended command, or a lost sandbox, has nothing left to do.
    const sent: Promise<unknown> = isRepeated ? execution.kill() : execution.signal(signal, 'tree')
    sent.catch(() => {})
  }
  for (const signal of FORWARDED) process.on(signal, forward)
  return () => {
    for (const signal of FORWARDED) process.off(signal, forward)
  }
}

function sendStdin(execution: Execution): () => void {
  const stdin: AsyncIterable<Buffer> & { destroy(): void } = process.stdin
  const send = async () => {
    try {
      for await (const bytes of stdin) await execution.stdin.write(bytes)
      execution.stdin.end()
    } catch {
      // Decision: the command ended or closed its stdin before reading everything; its exit tells the rest.
    }
  }
  void send()
  return () => stdin.destroy()
}

function followTerminal(execution: Execution): () => void {
  const { stdout } = process
  const resize = () => void execution.resize(currentSize()).catch(() => {})
  setRaw(true)
  stdout.on('resize', resize)
  return () => {
    setRaw(false)
    stdout.off('resize', resize)
  }
}

/** Throws unless `-t` has a terminal to show. */
export function terminalSize(): TerminalSize {
  if (!process.stdout.isTTY) throw new HoldfastError('invalid_request', '--tty needs a terminal, but stdout is none')
  return currentSize()
}

/** A terminal that does not know its size says 0. */
function currentSize(): TerminalSize {
  return { cols: process.stdout.columns || 80, rows: process.stdout.rows || 24 }
}
