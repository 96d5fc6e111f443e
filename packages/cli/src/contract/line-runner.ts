/**
 * Lines as a person types them: in a shell, in a directory of their own, with `holdfast` on the PATH.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { PROGRAM } from '../../../../test/environment/holdfast-program.ts'
import type { RealServer } from './real-server.ts'

export interface LineRunner {
  /** What it printed to both streams. */
  run(line: string): Promise<string>
  end(): void
}

/** `isUrlKnown`: as if HOLDFAST_URL, HOLDFAST_API_KEY and HOLDFAST_HOME were set. */
export function lineRunner({ environment }: Pick<RealServer, 'environment'>, isUrlKnown = true): LineRunner {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-lines-'))
  const bin = join(directory, 'bin')
  const work = join(directory, 'work')
  mkdirSync(bin)
  mkdirSync(work)
  writeFileSync(join(bin, 'holdfast'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`)
  chmodSync(join(bin, 'holdfast'), 0o755)
  const { HOLDFAST_URL: _url, HOLDFAST_API_KEY: _key, HOLDFAST_HOME: _home, ...rest } = environment
  const env = { ...(isUrlKnown ? environment : rest), PATH: `${bin}${delimiter}${environment['PATH'] ?? ''}` }
  return {
    async run(line) {
      const child = spawn('sh', ['-c', line], { env, cwd: work, stdio: ['ignore', 'pipe', 'pipe'] })
      let printed = ''
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
      await once(child, 'close')
      return printed
    },
    end: () => rmSync(directory, { recursive: true, force: true }),
  }
}
