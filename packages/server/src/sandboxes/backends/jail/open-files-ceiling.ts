/**
 * How many files may be open: the bound for jails, and whether the launcher of jails can work at all.
 */
import { readFileSync } from 'node:fs'

const CAP_SYS_RESOURCE = 24n

/** The server's own hard limit, or the kernel's for a server that may raise it. */
export function openFilesCeiling(): number {
  const status = readFileSync('/proc/self/status', 'utf8')
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  if (((capabilities >> CAP_SYS_RESOURCE) & 1n) === 1n) return Number(readFileSync('/proc/sys/fs/nr_open', 'utf8'))
  return hardLimit()
}

/** The launcher's own descriptors lie above those that it hands on, up to about 270. */
const LAUNCHER_NEEDS = 512

export function openFilesObstacle(hard: number = hardLimit()): { readonly reason: string; readonly fix: string } | null {
  if (hard >= LAUNCHER_NEEDS) return null
  return {
    reason: `a process may have only ${hard} files open here, and the launcher of jails needs ${LAUNCHER_NEEDS}`,
    fix: `raise the hard limit of the server, with \`ulimit -Hn 65536\` or LimitNOFILE=65536`,
  }
}

function hardLimit(): number {
  const limit = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return limit === undefined || limit === 'unlimited' ? Infinity : Number(limit)
}
