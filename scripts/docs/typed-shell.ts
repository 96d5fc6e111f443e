/**
 * A shell into which lines are typed one after the other, with `holdfast` on its path, and what each of them printed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface TypedShell {
  /** Its home and working directory, which is removed at the end. */
  readonly home: string
  /** Both streams, line by line, of what the line did until it ended. */
  type(line: string): Promise<readonly string[]>
  close(): Promise<void>
}

/** Ends what a line printed. */
const MARK = '\u001E'
const PROGRAM = fileURLToPath(new URL('../../packages/cli/bin/holdfast.mjs', import.meta.url))
const SYSTEM = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin']

export function openShell(settings: Readonly<Record<string, string>>): TypedShell {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-shell-'))
  const [bin, home] = [join(directory, 'bin'), join(directory, 'home')]
  for (const made of [bin, home]) mkdirSync(made)
  symlinkSync(PROGRAM, join(bin, 'holdfast'))
  const env = { PATH: [bin, dirname(process.execPath), ...SYSTEM].join(':'), HOME: home, NO_COLOR: '1', COLUMNS: '100', MARK }
  const shell = spawn('bash', ['-c', 'while IFS= read -r line; do eval "$line" 2>&1 < /dev/null; echo "$MARK"; done'], {
    env: { ...env, ...settings },
    cwd: home,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const output = createInterface(shell.stdout)[Symbol.asyncIterator]()
  return {
    home,
    async type(line) {
      shell.stdin.write(`${line}\n`)
      const printed: string[] = []
      for (;;) {
        const { value, done } = await output.next()
        if (done === true) throw new Error(`the shell ended at: ${line}`)
        if (!value.endsWith(MARK)) {
          printed.push(value)
          continue
        }
        // What does not end its last line has the mark in it.
        return value === MARK ? printed : [...printed, value.slice(0, -MARK.length)]
      }
    },
    async close() {
      shell.stdin.end()
      if (shell.exitCode === null) await once(shell, 'exit')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** What two runs of the same lines have in common: without ids, times, counters, and the widths of columns that follow from them. */
export function withoutChance(transcript: string): string {
  return transcript
    .replace(/\b(?<kind>[a-z]{3})_[0-9a-z]{16}\b/g, '$<kind>_…')
    .replace(/(?:\d+[a-z]+ )+ago/g, '… ago')
    .replace(/(?<="duration_ms":|^tick |^processes killed +)\d+(?:\.\d+)?/gm, '…')
    .replace(/ +/g, ' ')
}
