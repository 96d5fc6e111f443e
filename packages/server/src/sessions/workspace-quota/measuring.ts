/**
 * Measures what a session's directories hold, in a process of its own, so that the server's loop is free however much it is.
 *
 * The guest's binary does it, on the host: it walks trees that are deeper than any path, follows no link, and needs the same memory for
 * any size. Removed files count while a program holds them open, maps them or has them in a message that was not received yet, where
 * the server sees the program in `/proc`.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { SandboxFiles } from '../../home/sandbox-files.ts'
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
  /** Descriptors in messages of connections that nobody has accepted: what they hold cannot be measured. */
  readonly unseen: number
}

export interface Measuring {
  /** Places that are not there hold nothing. `uid`: only what this user removed counts; `ceiling` `null`: all is counted. */
  measure(places: readonly MeasuredPlace[], uid: number | null, ceiling: Usage | null, signal: AbortSignal): Promise<Measured>
}

/** Measurements at one time, of all sessions together. */
const AT_ONCE = 4
const REPORT = /^bytes=(\d+) entries=(\d+) hidden=(\d+) unseen=(\d+) over=([01])\0$/

export function createMeasuring(files: SandboxFiles): Measuring {
  let free = AT_ONCE
  const waiting: (() => void)[] = []

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => void waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }

  return {
    async measure(places, uid, ceiling, signal) {
      const most = ceiling === null ? [-1, -1, -1] : [ceiling.bytes, ceiling.entries, ceiling.hidden]
      const figures = [...most, uid ?? -1].map(String)
      const shown = places.flatMap(({ directory, inside }) => [directory, inside])
      try {
        return reportOf(await inTurn(() => files.measure(figures, shown, signal)))
      } catch (cause) {
        throw new HoldfastError('session_unavailable', 'the workspace cannot be measured, and it has a bound', {}, { cause })
      }
    },
  }
}

function reportOf(text: string): Measured {
  const [, bytes, entries, hidden, unseen, over] = REPORT.exec(text) ?? []
  if (over === undefined) throw new Error('the measuring program printed something else than figures')
  const usage = { bytes: Number(bytes), entries: Number(entries), hidden: Number(hidden) }
  return { usage, unseen: Number(unseen), isOver: over === '1' }
}
