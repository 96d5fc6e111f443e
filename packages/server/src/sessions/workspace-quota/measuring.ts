/**
 * Measures what a session's directories hold, in a process of its own, so that the server's loop is free however much it is.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * The guest's binary does it, on the host: it walks trees that are deeper than any path, follows no link, and needs the same memory for
 * any size. Programs can be asked about files that they removed and hold open where the server sees them in `/proc`.
 */
import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { promisify } from 'node:util'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../../home/error-code.ts'
import type { Usage } from './usage.ts'

/** A directory on the host, and where the sandbox shows it. */
export interface MeasuredPlace {
  readonly directory: string
  readonly inside: string
}

export interface Measured {
  readonly usage: Usage
  /** More than the ceiling was found, and the rest not looked at. */
  readonly isOver: boolean
}

export interface Measuring {
  /** Places that are not there hold nothing. `uid`: only what this user removed counts; `ceiling` `null`: all is counted. */
  measure(places: readonly MeasuredPlace[], uid: number | null, ceiling: Usage | null, signal: AbortSignal): Promise<Measured>
  /** What the file systems of these places have left, together: cheap, and about everybody who writes there. */
  space(places: readonly MeasuredPlace[]): Promise<Pick<Usage, 'bytes' | 'entries'>>
}

/** Some ten million entries. */
const LONGEST_MS = 60_000
const REPORT = /^bytes=(\d+) entries=(\d+) hidden=(\d+) over=([01])\0$/

const run = promisify(execFile)

/** `program` is the guest's binary. */
export function createMeasuring(program: string): Measuring {
  return {
    async measure(places, uid, ceiling, signal) {
      const most = ceiling === null ? [-1, -1, -1] : [ceiling.bytes, ceiling.entries, ceiling.hidden]
      const values = ['measure', ...[...most, uid ?? -1].map(String), ...places.flatMap(({ directory, inside }) => [directory, inside])]
      const options = { env: {}, timeout: LONGEST_MS, killSignal: 'SIGKILL', maxBuffer: 4096, signal, encoding: 'utf8' } as const
      try {
        return reportOf((await run(program, values, options)).stdout)
      } catch (cause) {
        throw new HoldfastError('session_unavailable', 'the workspace cannot be measured, and it has a bound', {}, { cause })
      }
    },
    async space(places) {
      const all = await Promise.all(places.map(({ directory }) => statfs(directory).catch(absent)))
      return {
        bytes: all.reduce((total, one) => total + (one === null ? 0 : one.bfree * one.bsize), 0),
        entries: all.reduce((total, one) => total + (one?.ffree ?? 0), 0),
      }
    },
  }
}

function reportOf(text: string): Measured {
  const [, bytes, entries, hidden, over] = REPORT.exec(text) ?? []
  if (over === undefined) throw new Error('the measuring program said something else than figures')
  return { usage: { bytes: Number(bytes), entries: Number(entries), hidden: Number(hidden) }, isOver: over === '1' }
}

function absent(error: unknown): null {
  if (hasErrorCode(error, 'ENOENT')) return null
  throw error
}
