/**
 * Builds of the guest's code for tests: with sanitizers, not static, each object named by the hash of what it was made from.
 *
 * Naming by content makes the cache safe for two runs at once and needs no book-keeping; `guest/build/` may be deleted at any time.
 */
import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { compiler, filesIn, WARNING_FLAGS } from '../build-guest.mjs'
import { findProgram, runQuietly } from '../set-up/command.mjs'
import { SetUpError } from '../set-up/say.mjs'
import { hashFiles } from '../set-up/stamp.mjs'

const SANITIZERS = ['-g', '-O1', '-fno-omit-frame-pointer', '-fno-sanitize-recover=all']

/**
 * `unit`: a program with its own main. `corpus`: a fuzz target under our plain driver. `fuzz`: a fuzz target under libFuzzer.
 *
 * @typedef {'unit' | 'corpus' | 'fuzz'} BuildKind
 */

/**
 * @param {string} root the repository
 * @param {string} testPath
 * @param {BuildKind} kind
 * @returns {Promise<string>} the binary
 */
export async function buildSanitized(root, testPath, kind) {
  const cc = kind === 'fuzz' ? clang() : compiler()
  const sanitize = kind === 'fuzz' ? '-fsanitize=fuzzer-no-link,address,undefined' : '-fsanitize=address,undefined'
  const include = `-I${join(root, 'guest', 'src')}`
  const flags = [...WARNING_FLAGS, ...SANITIZERS, sanitize, include]
  const directory = join(root, 'guest', 'build', 'sanitized')
  mkdirSync(directory, { recursive: true })

  const driver = kind === 'corpus' ? [join(root, 'scripts', 'guest', 'corpus-driver.c')] : []
  const sources = [...filesIn(join(root, 'guest', 'src'), '.c').filter((path) => basename(path) !== 'main.c'), testPath, ...driver]
  const headers = [...filesIn(join(root, 'guest', 'src'), '.h'), ...filesIn(join(testPath, '..'), '.h')]
  const objects = await Promise.all(
    sources.map((source) => build(join(directory, basename(source, '.c')), '.o', [source, ...headers], [cc, ...flags, '-c', source])),
  )
  const linkSanitize = kind === 'fuzz' ? '-fsanitize=fuzzer,address,undefined' : sanitize
  return build(join(directory, basename(testPath, '.c')), '', objects, [cc, linkSanitize, ...objects])
}

/**
 * The whole guest under sanitizers, for the suites that talk to it: `guest/build/holdfast-guest-sanitized`.
 *
 * @param {string} root the repository
 */
export async function buildSanitizedGuest(root) {
  const flags = [...WARNING_FLAGS, ...SANITIZERS, '-fsanitize=address,undefined']
  const directory = join(root, 'guest', 'build', 'sanitized')
  mkdirSync(directory, { recursive: true })
  const headers = filesIn(join(root, 'guest', 'src'), '.h')
  const objects = await Promise.all(
    filesIn(join(root, 'guest', 'src'), '.c').map((source) =>
      build(join(directory, basename(source, '.c')), '.o', [source, ...headers], [compiler(), ...flags, '-c', source]),
    ),
  )
  const binary = await build(join(directory, 'guest'), '', objects, [compiler(), '-fsanitize=address,undefined', ...objects])
  const place = join(root, 'guest', 'build', 'holdfast-guest-sanitized')
  copyFileSync(binary, `${place}.${process.pid}`)
  renameSync(`${place}.${process.pid}`, place)
}

/**
 * @param {string} stem
 * @param {string} suffix
 * @param {readonly string[]} inputs
 * @param {readonly string[]} command
 */
async function build(stem, suffix, inputs, command) {
  const output = `${stem}-${hashFiles(inputs, command).slice(0, 16)}${suffix}`
  if (existsSync(output)) return output
  const temporary = `${output}.${process.pid}`
  const [program = '', ...args] = command
  await runQuietly(program, [...args, '-o', temporary])
  renameSync(temporary, output)
  return output
}

function clang() {
  const path = findProgram('clang')
  if (path === null) throw new SetUpError('clang is not there: fuzzing needs it')
  return path
}
