/**
 * Watches how much file systems have left, one poll for all sessions with a bound: every 10 ms while one of them is busy or the space
 * falls, every 40 ms otherwise, and not at all while nobody watches.
 */
import { stat, statfs } from 'node:fs/promises'

export interface FreeSpace {
  readonly bytes: number
  /** Inodes. */
  readonly entries: number
}

export interface FreeSpaceWatch {
  /**
   * Calls `onLook` with the space that the file systems of these directories have left, each counted once. It returns whether to look
   * again in 10 ms. Returns the function that ends it.
   */
  watch(directories: readonly string[], onLook: (free: FreeSpace) => boolean): () => void
}

const LOOK_MS = { busy: 10, quiet: 40 }
/** After the space fell, it is looked at often for so long. */
const ALERT_MS = 2_000

interface Watcher {
  readonly directories: readonly string[]
  readonly onLook: (free: FreeSpace) => boolean
  /** Their file systems; `null` before the first look. */
  devices: ReadonlyMap<number, string> | null
}

export function createFreeSpaceWatch(): FreeSpaceWatch {
  const watchers = new Set<Watcher>()
  const last = new Map<number, FreeSpace>()
  let timer: NodeJS.Timeout | null = null
  let isLooking = false
  let fellAt = Number.NEGATIVE_INFINITY

  function schedule(ms: number): void {
    if (timer !== null) clearTimeout(timer)
    timer = watchers.size === 0 ? null : setTimeout(() => void look(), ms).unref()
  }

  async function look(): Promise<void> {
    isLooking = true
    let isBusy = false
    try {
      const directoryOf = new Map<number, string>()
      for (const watcher of watchers) {
        watcher.devices ??= await devicesOf(watcher.directories)
        for (const [device, directory] of watcher.devices) directoryOf.set(device, directory)
      }
      await Promise.all([...directoryOf].map(([device, directory]) => note(device, directory)))
      for (const watcher of watchers) if (watcher.onLook(total(watcher))) isBusy = true
    } finally {
      isLooking = false
      schedule(isBusy || performance.now() - fellAt < ALERT_MS ? LOOK_MS.busy : LOOK_MS.quiet)
    }
  }

  async function note(device: number, directory: string): Promise<void> {
    const found = await statfs(directory).catch(() => null)
    if (found === null) return
    const free = { bytes: found.bfree * found.bsize, entries: found.ffree }
    const before = last.get(device)
    if (before !== undefined && (free.bytes < before.bytes || free.entries < before.entries)) fellAt = performance.now()
    last.set(device, free)
  }

  function total({ devices }: Watcher): FreeSpace {
    const known = [...(devices?.keys() ?? [])].flatMap((device) => last.get(device) ?? [])
    return {
      bytes: known.reduce((sum, { bytes }) => sum + bytes, 0),
      entries: known.reduce((sum, { entries }) => sum + entries, 0),
    }
  }

  return {
    watch(directories, onLook) {
      const watcher: Watcher = { directories, onLook, devices: null }
      watchers.add(watcher)
      if (!isLooking) schedule(0)
      return () => {
        watchers.delete(watcher)
        if (watchers.size > 0) return
        schedule(0)
        last.clear()
      }
    },
  }
}

/** With a directory on each. One that is not there holds nothing. */
async function devicesOf(directories: readonly string[]): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>()
  for (const directory of directories) {
    const known = await stat(directory).catch(() => null)
    if (known !== null) found.set(known.dev, directory)
  }
  return found
}
