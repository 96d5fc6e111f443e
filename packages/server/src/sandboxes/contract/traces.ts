/**
 * What a sandbox leaves on the host, read from the kernel and the engine and never from the code under test.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Everything a laboratory makes has the laboratory's own name in it (its directory, hence every mount source, the
 * guest binary, sockets), so its traces can be told from those of others on the same machine.
 */
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'

export interface HostProcess {
  readonly pid: number
  readonly parentPid: number
  readonly command: string
  readonly cgroups: readonly string[]
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return '' // the process is gone, or is not ours to read
  }
}

/** Every process whose command line or whose mounts mention the marker, this process and its ancestors left out. */
export function processesOf(marker: string): readonly HostProcess[] {
  const own = new Set(ancestry(process.pid))
  const found: HostProcess[] = []
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid) || own.has(pid)) continue
    const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
    if (!command.includes(marker) && !read(`/proc/${pid}/mountinfo`).includes(marker)) continue
    found.push({ pid, parentPid: parentOf(pid), command, cgroups: cgroupsOf(pid) })
  }
  return found
}

function ancestry(pid: number): readonly number[] {
  const parent = parentOf(pid)
  return parent > 0 ? [pid, ...ancestry(parent)] : [pid]
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)
}

/** The cgroup directories of a process that are not also this process's own. */
function cgroupsOf(pid: number): readonly string[] {
  const own = new Set(read('/proc/self/cgroup').split('\n'))
  const lines = read(`/proc/${pid}/cgroup`)
    .split('\n')
    .filter((line) => line !== '' && !own.has(line))
  return lines.flatMap((line) => {
    const [, controllers = '', path = '/'] = line.split(':')
    if (path === '/') return []
    return cgroupMounts(controllers).map((mount) => join(mount, path))
  })
}

function cgroupMounts(controllers: string): readonly string[] {
  const mounts: string[] = []
  for (const line of read('/proc/self/mounts').split('\n')) {
    const [, place = '', type = '', options = ''] = line.split(' ')
    const isUnified = controllers === '' && type === 'cgroup2'
    const isNamed = type === 'cgroup' && controllers !== '' && controllers.split(',').every((name) => options.split(',').includes(name))
    if (isUnified || isNamed) mounts.push(place)
  }
  return mounts
}

/** Cgroup directories whose own name mentions a marker, in every hierarchy, four levels deep. */
export function cgroupsNamed(marker: string): readonly string[] {
  const found: string[] = []
  const visit = (directory: string, depth: number): void => {
    for (const name of directoriesIn(directory)) {
      const path = join(directory, name)
      if (name.includes(marker)) found.push(path)
      else if (depth > 0) visit(path, depth - 1)
    }
  }
  visit('/sys/fs/cgroup', 5)
  return found
}

function directoriesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  } catch {
    return [] // removed while we looked
  }
}

export function mountsOf(marker: string): readonly string[] {
  return read('/proc/self/mountinfo')
    .split('\n')
    .filter((line) => line.includes(marker))
}

export function socketsOf(marker: string): readonly string[] {
  return read('/proc/net/unix')
    .split('\n')
    .filter((line) => line.includes(marker))
}

/** Those of the given cgroup directories that still exist. */
export function existing(paths: Iterable<string>): readonly string[] {
  return [...paths].filter((path) => existsSync(path))
}

/** Every living process that has the uid on the host as any of its four. */
export function processesOfUser(uid: number): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      if (!Number.isInteger(pid)) return false
      const status = read(`/proc/${pid}/status`)
      const isDead = /^State:\s+[ZX]/m.test(status)
      return !isDead && (/^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? []).includes(String(uid))
    })
}

/** What the kernel says of a process; nothing of one that has ended. */
export function textOf(pid: number, file: 'environ' | 'cmdline'): string {
  return unlessEnded(pid, '', () => readFileSync(`/proc/${pid}/${file}`, 'latin1'))
}

/** Whether the text stands anywhere in the writable memory of a process, which one that has ended has none of. Only root can look. */
export function memoryContains(pid: number, text: string): boolean {
  return unlessEnded(pid, false, () => searchMemory(pid, text))
}

/** A supervisor without a program may end while it is looked at. */
function unlessEnded<T>(pid: number, otherwise: T, look: () => T): T {
  try {
    return look()
  } catch (error) {
    if (existsSync(`/proc/${pid}`)) throw error
    return otherwise
  }
}

function searchMemory(pid: number, text: string): boolean {
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    return read(`/proc/${pid}/maps`)
      .split('\n')
      .some((line) => {
        const [, start, end] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
        return start !== undefined && end !== undefined && rangeContains(memory, Number(`0x${start}`), Number(`0x${end}`), text)
      })
  } finally {
    closeSync(memory)
  }
}

function rangeContains(memory: number, start: number, end: number, text: string): boolean {
  const bytes = Buffer.alloc(end - start)
  try {
    readSync(memory, bytes, 0, bytes.length, start)
  } catch {
    return false // a mapping that has no memory behind it
  }
  return bytes.includes(text)
}
