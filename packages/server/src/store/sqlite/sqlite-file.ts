/**
 * The database file before it is opened for writing: private to its owner, and found whole.
 *
 * Stands beside the flow. Everything here reads only, so that a file that is refused stays as it was, byte for byte.
 */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from '../../home/error-code.ts'
import type { Connection } from './connection.ts'

const PRIVATE = 0o600

/** Makes an empty file when there is none. SQLite gives its log and index files the same mode. */
export function makePrivateFile(path: string): void {
  try {
    makeIfMissing(path)
    const status = statSync(path)
    if (status.isFile() && (status.mode & 0o777) !== PRIVATE) chmodSync(path, PRIVATE)
  } catch (cause) {
    throw new HoldfastError('store_unavailable', `cannot make the database ${path} or keep it private`, { path }, { cause })
  }
}

/** Only a new file is opened by hand: closing one that SQLite has open in this process would take its locks away. */
function makeIfMissing(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE))
  } catch (error) {
    if (!hasErrorCode(error, 'EEXIST')) throw error
  }
}

/** Throws `store_corrupt` unless every page is in its place. Takes time in proportion to the file. */
export function refuseDamaged(connection: Connection, path: string): void {
  const verdict = connection.get('PRAGMA quick_check(1)', [])?.quick_check
  if (verdict !== 'ok')
    throw new HoldfastError('store_corrupt', `the database ${path} is damaged (${String(verdict)}); nothing was changed`, { path })
}
