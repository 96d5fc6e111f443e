/**
 * Words of a command line in the order in which the parser wants them: flags may stand before the verb (`holdfast --url … ps demo`), and a
 * session before the flags of `exec` (`holdfast exec demo -c ls`).
 */
import type { Command } from 'commander'

/** Flags that most verbs have; each takes a value. */
const LEADING = new Set(['--url', '--tenant', '--as', '--group', '-s', '--session', '-o', '--output'])

/** How many words before the verb are flags and their values. */
export function leadingFlags(words: readonly string[]): number {
  let at = 0
  for (;;) {
    const [name = '', value] = words[at]?.split('=', 2) ?? []
    if (!LEADING.has(name)) return at
    at += value === undefined ? 2 : 1
  }
}

export function inOrder(program: Command, words: readonly string[]): readonly string[] {
  const start = leadingFlags(words)
  let end = start
  for (let command: Command | undefined = program; command !== undefined; end++)
    command = command.commands.find((child) => [child.name(), ...child.aliases()].includes(words[end] ?? ''))
  const verb = words.slice(start, end - 1)
  const rest = words.slice(end - 1)
  return [...verb, ...words.slice(0, start), ...(verb.join(' ') === 'exec' ? withSessionFlag(rest) : rest)]
}

/** A program needs no flag before its own, so what stands before a flag is the session. */
function withSessionFlag(rest: readonly string[]): readonly string[] {
  const [first = '-', second = ''] = rest
  return !first.startsWith('-') && second.startsWith('-') ? ['-s', ...rest] : rest
}
