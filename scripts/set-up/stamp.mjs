/**
 * Stamps: a hash of what a step was made from, so that the step is skipped while nothing changed.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * @param {readonly string[]} paths files whose names and contents count
 * @param {readonly string[]} [words] other things that count, such as compiler flags
 */
export function hashFiles(paths, words = []) {
  const hash = createHash('sha256').update(JSON.stringify(words))
  for (const path of paths) hash.update(`\0${path}\0`).update(readFileSync(path))
  return hash.digest('hex')
}

/**
 * @param {string} root the repository
 * @param {string} name
 */
export function readStamp(root, name) {
  try {
    return readFileSync(stampPath(root, name), 'utf8')
  } catch {
    return null // not stamped yet: the step has never been done here
  }
}

/**
 * Written under another name first: another set-up may read it at any moment.
 *
 * @param {string} root
 * @param {string} name
 * @param {string} value
 */
export function writeStamp(root, name, value) {
  const path = stampPath(root, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.${process.pid}`, value)
  renameSync(`${path}.${process.pid}`, path)
}

/**
 * @param {string} root
 * @param {string} name
 */
function stampPath(root, name) {
  return join(root, '.tools', 'stamps', name)
}
