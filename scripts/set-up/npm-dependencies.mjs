/**
 * The npm packages of the lock file, installed once and again whenever the lock file changes.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runQuietly } from './command.mjs'
import { SetUpError, step } from './say.mjs'
import { hashFiles, readStamp, writeStamp } from './stamp.mjs'

/**
 * @typedef {{ version?: string, link?: boolean, optional?: boolean }} LockEntry
 */

/**
 * The npm that started us, run by the given node; otherwise the one on the PATH.
 *
 * @param {string} node
 * @returns {[string, ...string[]]}
 */
export function npmCommand(node) {
  const npmPath = process.env.npm_execpath
  return npmPath?.endsWith('npm-cli.js') ? [node, npmPath] : ['npm']
}

/**
 * @param {string} root the repository
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 */
export async function ensureNpmDependencies(root, node, env) {
  const lockPath = join(root, 'package-lock.json')
  const hash = hashFiles([lockPath])
  const isInstalled = existsSync(join(root, 'node_modules', '.package-lock.json'))
  if (isInstalled && readStamp(root, 'npm') === hash) return
  if (!isInstalled || !matchesLock(root)) {
    await step('Installing the npm packages of package-lock.json into node_modules/', () => install(root, node, env))
  }
  writeStamp(root, 'npm', hash)
}

/**
 * Not `npm ci`: it empties `node_modules` under whatever runs at the moment, and it refuses where a registry mirror lacks packages for
 * other platforms. Its strictness is kept by comparing afterwards.
 *
 * @param {string} root
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 */
async function install(root, node, env) {
  const [program, ...args] = npmCommand(node)
  await runQuietly(program, [...args, 'install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, env })
  if (!matchesLock(root))
    throw new SetUpError('package-lock.json does not fit the package.json files: run `npm install` and keep what it changes')
}

/**
 * Whether npm's own record of what it installed says the same as the lock file. Packages for other platforms are not installed.
 *
 * @param {string} root
 */
function matchesLock(root) {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'))
  const isModule = (/** @type {string} */ path) => path.startsWith('node_modules/')
  const hasWanted = Object.entries(wanted).every(([path, entry]) => {
    const found = installed[path]
    if (!isModule(path) || (found === undefined && entry.optional === true)) return true
    return found !== undefined && found.version === entry.version && found.link === entry.link
  })
  return hasWanted && Object.keys(installed).every((path) => !isModule(path) || path in wanted)
}

/**
 * @param {string} path
 * @returns {Record<string, LockEntry>}
 */
function readPackages(path) {
  return JSON.parse(readFileSync(path, 'utf8')).packages ?? {}
}
