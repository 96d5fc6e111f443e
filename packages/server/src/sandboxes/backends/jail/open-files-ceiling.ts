/**
 * How many open files a jail can be allowed at most: the server's own hard limit, or the kernel's for one that may raise it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { readFileSync } from 'node:fs'

const CAP_SYS_RESOURCE = 24n

export function openFilesCeiling(): number {
  const status = readFileSync('/proc/self/status', 'utf8')
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  if (((capabilities >> CAP_SYS_RESOURCE) & 1n) === 1n) return Number(readFileSync('/proc/sys/fs/nr_open', 'utf8'))
  const limit = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return limit === undefined || limit === 'unlimited' ? Infinity : Number(limit)
}
