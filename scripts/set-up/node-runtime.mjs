/**
 * The right Node: the running one if it is new enough, otherwise one from npm under `.tools/`.
 *
 * The npm package `node` picks its platform's binary in an install script, which newer npm versions block; we ask for
 * the platform's package by name instead, which needs no script.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { npmCommand } from './npm-dependencies.mjs'
import { runQuietly } from './command.mjs'
import { SetUpError, step } from './say.mjs'

const REQUIRED_MAJOR = 24
const VERSION = '24.21.0'

/**
 * @param {string} root the repository
 * @returns {Promise<string>} path of a node binary of the required version
 */
export async function ensureNode(root) {
  if (Number.parseInt(process.versions.node, 10) >= REQUIRED_MAJOR) return process.execPath
  const packageName = `node-${process.platform}-${process.arch}`
  const directory = join(root, '.tools', `node-${VERSION}-${process.platform}-${process.arch}`)
  const binary = join(directory, 'node_modules', packageName, 'bin', 'node')
  if (existsSync(binary)) return binary
  await step(
    `Installing Node ${VERSION} into .tools/ (Holdfast needs Node ${REQUIRED_MAJOR}, this is ${process.version}; your own stays as it is)`,
    () => install(packageName, directory),
  )
  if (!existsSync(binary))
    throw new SetUpError(`the npm package ${packageName}@${VERSION} holds no bin/node; install Node ${REQUIRED_MAJOR} yourself`)
  return binary
}

/**
 * Installs beside the final place and renames, so that a half-done or a second installation does no harm.
 *
 * @param {string} packageName
 * @param {string} directory
 */
async function install(packageName, directory) {
  const temporary = `${directory}.${process.pid}`
  mkdirSync(temporary, { recursive: true })
  try {
    const [program, ...args] = npmCommand(process.execPath)
    const options = ['--no-package-lock', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    await runQuietly(program, [...args, 'install', '--prefix', temporary, ...options, `${packageName}@${VERSION}`], { cwd: temporary })
    renameSync(temporary, directory)
  } catch (error) {
    if (!existsSync(directory)) throw error // else somebody else was quicker, and theirs is as good
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
