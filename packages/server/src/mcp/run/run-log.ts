/**
 * What is told of one MCP server's process beside its messages: the newest lines, in bounded memory.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * `holdfast`: what is being done with it. `stdout`: what it printed there that is no message. Its stderr is kept with its process.
 */
import { shown } from '../launch/progress.ts'

export interface LogLine {
  readonly at: number
  readonly source: 'holdfast' | 'stdout'
  readonly text: string
}

export interface RunLog {
  note(text: string): void
  printed(text: string): void
  /** Oldest first. */
  lines(): readonly LogLine[]
  /** Hears what is noted from now on; gives what ends it. */
  listen(onNote: (line: string) => void): () => void
}

const MAXIMUM_LINES = 2_000
const MAXIMUM_CHARACTERS = 262_144
const MAXIMUM_LINE = 8_192
/** More than is kept: a secret that begins in what is kept ends in this, and is left out. */
const MAXIMUM_READ = 16_384

export function createRunLog(clock: () => number): RunLog {
  const kept: LogLine[] = []
  const listeners = new Set<(line: string) => void>()
  let characters = 0

  function add(source: LogLine['source'], text: string): string {
    const line = { at: clock(), source, text: shown(text.slice(0, MAXIMUM_READ)).slice(0, MAXIMUM_LINE) }
    kept.push(line)
    characters += line.text.length
    while (kept.length > MAXIMUM_LINES || characters > MAXIMUM_CHARACTERS) characters -= kept.shift()?.text.length ?? 0
    return line.text
  }

  return {
    note(text) {
      const line = add('holdfast', text)
      for (const listener of listeners) listener(line)
    },
    printed: (text) => void add('stdout', text),
    lines: () => [...kept],
    listen(onNote) {
      // A function of its own, so that the same listener twice counts twice.
      const entry = (line: string) => onNote(line)
      listeners.add(entry)
      return () => listeners.delete(entry)
    },
  }
}
