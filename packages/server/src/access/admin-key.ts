/**
 * The API key: where it comes from, and whether a request carries it.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * Made on first start and kept in a file only its owner can read, so that the local command line finds it. The server
 * itself keeps the hash.
 */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../home/error-code.ts'
import { hashKey, isSameHash, newKey } from './key-secret.ts'

export interface AdminKey {
  /** Shown once, when it was made just now; otherwise `null`. */
  readonly madeNow: string | null
  readonly file: string | null
  matches(candidate: string): boolean
}

export function adminKeyPath(home: string): string {
  return join(home, 'admin.key')
}

/** A configured key replaces the file, which is then neither read nor made. */
export function openAdminKey(home: string, configured: string | null): AdminKey {
  if (configured !== null) return { madeNow: null, file: null, matches: matcherOf(configured) }
  const file = adminKeyPath(home)
  const stored = readAdminKey(home)
  if (stored !== null) return { madeNow: null, file, matches: matcherOf(stored) }
  const made = newKey()
  writeNewFile(file, `${made}\n`)
  return { madeNow: made, file, matches: matcherOf(made) }
}

/** The key in the file, or `null` before the first start. */
export function readAdminKey(home: string): string | null {
  const file = adminKeyPath(home)
  try {
    const key = readFileSync(file, 'utf8').trim()
    if (key.length < 16)
      throw new HoldfastError('config_invalid', `${file} holds no key; remove it and a new one is made at the next start`, { file })
    return key
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null
    throw error
  }
}

function writeNewFile(path: string, content: string): void {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    writeSync(descriptor, content)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function matcherOf(key: string): (candidate: string) => boolean {
  const expected = hashKey(key)
  return (candidate) => isSameHash(hashKey(candidate), expected)
}
