/**
 * How often the kernel enforced a limit of a sandbox, from the counters of its cgroups.
 *
 * The reads are synchronous: cgroup files are memory, never a disk. A warm command reads them at most once a second.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasErrorCode } from '../home/error-code.ts'

export interface LimitCounters {
  /** Processes that were killed because the memory limit was reached. */
  readonly oomKills: number
  /** Forks that were refused because the process limit was reached. */
  readonly refusedForks: number
}

export interface CounterReader {
  /** At most a second old; `null` while nothing is known. */
  recent(): LimitCounters | null
  /** Waits until the cgroups are found: a command can fail before that. */
  latest(): Promise<LimitCounters | null>
}

const NONE: LimitCounters = { oomKills: 0, refusedForks: 0 }
const MOST_AGE_MS = 1_000

/** `isNew`: nothing was counted before. Failures to find the cgroups leave the counters unknown. */
export function createCounterReader(findCgroups: () => Promise<readonly string[]>, isNew: boolean): CounterReader {
  let cgroups: readonly string[] = []
  let known = isNew ? NONE : null
  let readAt = -Infinity

  function read(): LimitCounters | null {
    if (cgroups.length === 0) return known
    readAt = performance.now()
    return (known = readLimitCounters(cgroups))
  }

  const finding = findCgroups().then(
    (found) => {
      cgroups = found
      if (known === null) read()
    },
    () => undefined,
  )
  return { latest: () => finding.then(read), recent: () => (performance.now() - readAt > MOST_AGE_MS ? read() : known) }
}

/** Both versions: a directory has one of the files or none. */
export function readLimitCounters(cgroups: readonly string[]): LimitCounters {
  const sum = (file: string, word: string) => cgroups.reduce((total, directory) => total + counterIn(join(directory, file), word), 0)
  return {
    oomKills: sum('memory.events', 'oom_kill') + sum('memory.oom_control', 'oom_kill'),
    refusedForks: sum('pids.events', 'max'),
  }
}

function counterIn(path: string, word: string): number {
  try {
    const line = readFileSync(path, 'utf8')
      .split('\n')
      .find((each) => each.startsWith(`${word} `))
    return Number(line?.slice(word.length + 1) ?? 0)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENODEV', 'EACCES')) return 0
    throw error
  }
}
