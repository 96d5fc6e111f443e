/**
 * Copies of what a package manager needs from the host's `/etc`, for sandboxes with `user: root`, where `/etc` can be written.
 *
 * Only named trees, and in them only files that every user of the host may read, without those that hold a password in an address. So
 * nothing of the host's accounts, keys and tokens is among them.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

const TREES = [
  ...['alternatives', 'apt/apt.conf', 'apt/apt.conf.d', 'apt/keyrings', 'apt/preferences.d', 'apt/sources.list', 'apt/sources.list.d'],
  ...['apt/trusted.gpg.d', 'ca-certificates', 'ca-certificates.conf', 'crypto-policies', 'debconf.conf', 'debian_version', 'dpkg', 'fonts'],
  ...['ld.so.conf', 'ld.so.conf.d', 'login.defs', 'adduser.conf', 'pki/ca-trust', 'pki/tls/certs', 'profile', 'shells', 'ssl/certs'],
]
const MOST_ENTRIES = 4096
const MOST_BYTES = 1024 * 1024
/** `https://user:password@host`. */
const PASSWORD_IN_ADDRESS = /:\/\/[^/\s]*@/

export interface PublicFiles {
  readonly files: Readonly<Record<string, Buffer>>
  readonly links: Readonly<Record<string, string>>
}

/** By their paths below `/etc`. */
export function publicFiles(root = '/etc'): PublicFiles {
  const files: Record<string, Buffer> = {}
  const links: Record<string, string> = {}
  let left = MOST_ENTRIES
  function take(name: string): void {
    const path = join(root, name)
    const status = lstatSync(path, { throwIfNoEntry: false })
    if (status === undefined || left <= 0) return
    left -= 1
    if (status.isSymbolicLink()) links[name] = readlinkSync(path)
    else if (status.isDirectory() && (status.mode & 0o005) === 0o005) for (const entry of readdirSync(path)) take(join(name, entry))
    else if (status.isFile() && (status.mode & 0o004) !== 0 && status.size <= MOST_BYTES) {
      const bytes = readFileSync(path)
      if (!PASSWORD_IN_ADDRESS.test(bytes.toString('latin1'))) files[name] = bytes
    }
  }
  for (const tree of TREES) take(tree)
  return { files, links }
}
