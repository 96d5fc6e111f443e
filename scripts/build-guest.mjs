/**
 * Compiles the guest and the launcher: `guest/src/*.c` and `guest/launcher/*.c` to static binaries in `guest/build/`.
 *
 * Skipped while sources, flags and compiler are what they were. Each binary is made under a temporary name and renamed,
 * so that two builds at once, or a running server, never see half of one.
 */
import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { capture, findProgram } from './set-up/command.mjs'
import { say, SetUpError, step } from './set-up/say.mjs'
import { hashFiles, readStamp, writeStamp } from './set-up/stamp.mjs'

// Empty, because a source file that says so itself writes `#define _GNU_SOURCE`, and only the same definition twice is no warning.
export const WARNING_FLAGS = [
  '-std=c17',
  '-D_GNU_SOURCE=',
  '-Wall',
  '-Wextra',
  '-Wpedantic',
  '-Wshadow',
  '-Wconversion',
  '-Wstrict-prototypes',
  '-Wvla',
  '-Werror',
]
// Some distributions define _FORTIFY_SOURCE themselves, and defining it twice is a warning.
const HARDENING_FLAGS = ['-fstack-protector-strong', '-fstack-clash-protection', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2']
const LINK_FLAGS = ['-static', '-Wl,-z,relro', '-Wl,-z,now', '-Wl,-z,noexecstack']
const NO_COMPILER =
  'no C compiler found: Holdfast compiles a small program that runs inside every sandbox. Install one: sudo apt-get install gcc libc6-dev'

/** The compiler to use: `$CC`, or `cc`. */
export function compiler() {
  const wanted = process.env.CC || 'cc'
  const path = findProgram(wanted)
  if (path === null) throw new SetUpError(process.env.CC ? `the compiler named by CC is not there: ${wanted}` : NO_COMPILER)
  return path
}

/**
 * @param {string} directory
 * @param {string} suffix
 * @returns {string[]} full paths, sorted
 */
export function filesIn(directory, suffix) {
  if (!existsSync(directory)) return []
  const names = readdirSync(directory).filter((name) => name.endsWith(suffix))
  return names.toSorted().map((name) => join(directory, name))
}

/** @param {string} root the repository */
export async function buildGuest(root) {
  const headers = [...filesIn(join(root, 'guest', 'src'), '.h'), ...filesIn(join(root, 'guest', 'launcher'), '.h')]
  await buildBinary(root, 'holdfast-guest', filesIn(join(root, 'guest', 'src'), '.c'), headers)
  await buildBinary(root, 'holdfast-launcher', filesIn(join(root, 'guest', 'launcher'), '.c'), headers)
}

/**
 * @param {string} root
 * @param {string} name
 * @param {readonly string[]} sources
 * @param {readonly string[]} headers
 */
async function buildBinary(root, name, sources, headers) {
  if (sources.length === 0) {
    say(`No C sources for ${name} in this tree: not built. Sandboxes that need it cannot start.`)
    return
  }
  const cc = compiler()
  const flags = ['-O2', ...WARNING_FLAGS, ...HARDENING_FLAGS, `-I${join(root, 'guest', 'src')}`, ...LINK_FLAGS]
  // By the file behind the name: another PATH finds the same compiler at /bin/cc and at /usr/bin/cc.
  const hash = hashFiles([...sources, ...headers], [realpathSync(cc), ...flags])
  const binary = join(root, 'guest', 'build', name)
  if (existsSync(binary) && readStamp(root, name) === hash) return
  await step(`Compiling guest/build/${name}`, () => compile(cc, [...flags, ...sources], binary))
  writeStamp(root, name, hash)
}

/**
 * @param {string} cc
 * @param {readonly string[]} args
 * @param {string} binary
 */
async function compile(cc, args, binary) {
  mkdirSync(join(binary, '..'), { recursive: true })
  const temporary = `${binary}.${process.pid}`
  try {
    const { exitCode, output } = await capture(cc, [...args, '-o', temporary])
    if (exitCode !== 0) throw new SetUpError(explain(output))
    renameSync(temporary, binary)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** @param {string} output */
function explain(output) {
  if (/cannot find -lc\b|cannot find crt|stdio\.h: No such file/.test(output)) {
    return `the C compiler has no (static) C library to link with. Install it: sudo apt-get install libc6-dev\n${output.trimEnd()}`
  }
  return `the guest does not compile:\n${output.trimEnd()}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await buildGuest(fileURLToPath(new URL('..', import.meta.url)))
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error
    say(error.message)
    process.exitCode = 1
  }
}
