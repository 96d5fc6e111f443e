/**
 * Running other programs: quietly with the output kept for a failure, or in the foreground with ours.
 */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { SetUpError } from './say.mjs'

const SHOWN_FIRST_LINES = 15
const SHOWN_LAST_LINES = 25
/** Where Debian keeps `dockerd`, `ip` and the like; not on the PATH of everybody. */
const SYSTEM_DIRECTORIES = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/**
 * @typedef {object} CommandOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 */

/**
 * @param {string} program
 * @returns {string | null} where it is
 */
export function findProgram(program) {
  if (program.includes('/')) return isExecutable(program) ? program : null
  const directories = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_DIRECTORIES]
  return directories.map((directory) => join(directory, program)).find(isExecutable) ?? null
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Runs to the end with stdout and stderr kept together.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {CommandOptions} [options]
 * @returns {Promise<{ exitCode: number, output: string }>} an exit code of 127 when it could not be started
 */
export function capture(program, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    /** @type {Buffer[]} */
    const chunks = []
    child.stdout.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk))
    child.stderr.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk))
    child.on('error', (error) => resolve({ exitCode: 127, output: error.message }))
    child.on('close', (code) => resolve({ exitCode: code ?? 1, output: Buffer.concat(chunks).toString() }))
  })
}

/**
 * Runs quietly; a failure shows what it said.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {CommandOptions} [options]
 * @returns {Promise<string>} the output
 */
export async function runQuietly(program, args, options = {}) {
  const { exitCode, output } = await capture(program, args, options)
  if (exitCode === 0) return output
  throw new SetUpError(`\`${program} ${args.slice(0, 2).join(' ')} …\` failed with exit code ${exitCode}:\n${excerpt(output)}`)
}

/**
 * Some programs say the reason first, some last.
 *
 * @param {string} output
 */
function excerpt(output) {
  const lines = output.trimEnd().split('\n')
  if (lines.length <= SHOWN_FIRST_LINES + SHOWN_LAST_LINES) return lines.join('\n')
  return [...lines.slice(0, SHOWN_FIRST_LINES), '…', ...lines.slice(-SHOWN_LAST_LINES)].join('\n')
}

/**
 * Runs in the foreground with our terminal. A Ctrl-C reaches the child by itself (same process group), so we only
 * wait for it to clean up; other requests to end are passed on.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {CommandOptions} [options]
 * @returns {Promise<number>} the exit code, or 128 + signal number
 */
export function runInForeground(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: 'inherit' })
    const wait = () => {}
    const passOn = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal)
    process.on('SIGINT', wait)
    process.on('SIGTERM', passOn)
    process.on('SIGHUP', passOn)
    const release = () => {
      process.off('SIGINT', wait)
      process.off('SIGTERM', passOn)
      process.off('SIGHUP', passOn)
    }
    child.on('error', (error) => {
      release()
      reject(error)
    })
    child.on('exit', (code, signal) => {
      release()
      resolve(code ?? 128 + (signal === 'SIGINT' ? 2 : signal === 'SIGKILL' ? 9 : 15))
    })
  })
}
