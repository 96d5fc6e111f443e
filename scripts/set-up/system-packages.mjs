/**
 * Programs from the system's own packages: bubblewrap and slirp4netns for everybody who may install them; container
 * engines and PostgreSQL only where `HOLDFAST_CI_INSTALL=1` says that this machine is there for testing.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { hasLibFuzzer } from '../guest/lib-fuzzer.mjs'
import { capture, findProgram, runQuietly } from './command.mjs'
import { say, step } from './say.mjs'

/**
 * @typedef {object} Tool
 * @property {string} packageName
 * @property {() => boolean} isPresent
 * @property {string} why
 */

/** @type {readonly Tool[]} */
const FOR_EVERYBODY = [
  { packageName: 'bubblewrap', isPresent: anyOf('bwrap'), why: 'sandboxes without a container engine' },
  { packageName: 'slirp4netns', isPresent: anyOf('slirp4netns'), why: 'the network of those sandboxes that may have one' },
]

/** @type {readonly Tool[]} */
const FOR_TEST_MACHINES = [
  { packageName: 'docker.io', isPresent: anyOf('dockerd'), why: 'the docker backend' },
  { packageName: 'podman', isPresent: anyOf('podman'), why: 'the podman backend' },
  { packageName: 'runc', isPresent: anyOf('runc'), why: 'the runtime of both' },
  {
    packageName: 'containernetworking-plugins',
    isPresent: anyOf('/usr/lib/cni/bridge', 'netavark', '/usr/lib/podman/netavark'),
    why: "podman's networks",
  },
  { packageName: 'iptables', isPresent: anyOf('iptables'), why: 'what dockerd looks for when it starts' },
  { packageName: 'iproute2', isPresent: anyOf('ip'), why: 'a private bridge for the test engines' },
  { packageName: 'uidmap', isPresent: anyOf('newuidmap'), why: 'user namespaces of rootless sandboxes' },
  { packageName: 'postgresql', isPresent: anyOf('/usr/lib/postgresql', 'initdb'), why: 'the PostgreSQL store' },
  { packageName: 'python3-venv', isPresent: hasVenv, why: 'what Python MCP servers need, installed in sandboxes of this system' },
  { packageName: 'clang', isPresent: anyOf('clang'), why: "fuzzing the guest's frame parser" },
  { packageName: 'libclang-rt-dev', isPresent: hasLibFuzzer, why: "clang's fuzzer and sanitizers" },
]

/** A source that does not answer must not hold up the others. */
const APT_OPTIONS = [
  '-o',
  'Acquire::http::Timeout=15',
  '-o',
  'Acquire::https::Timeout=15',
  '-o',
  'Acquire::Retries=2',
  '-o',
  'DPkg::Lock::Timeout=120',
]

export async function ensureSystemPackages() {
  if (process.platform !== 'linux') return
  const isTestMachine = process.env.HOLDFAST_CI_INSTALL === '1'
  const wanted = isTestMachine ? [...FOR_EVERYBODY, ...FOR_TEST_MACHINES] : FOR_EVERYBODY
  const missing = wanted.filter((tool) => !tool.isPresent())
  if (missing.length === 0) return
  const names = missing.map((tool) => tool.packageName)
  if (!mayInstall()) {
    const reasons = missing.map((tool) => `${tool.packageName} (${tool.why})`).join(', ')
    say(`Not installed: ${reasons}. To have it: sudo apt-get install ${names.join(' ')} (or your system's equivalent). Going on without.`)
    return
  }
  for (const tool of missing) say(`To install: ${tool.packageName}, for ${tool.why}`)
  await step(`Installing ${names.length === 1 ? 'it' : `these ${names.length} packages`} with apt-get`, () => install(names))
}

/**
 * @param {readonly string[]} programsOrFiles absolute paths are files, other words programs
 * @returns {() => boolean}
 */
function anyOf(...programsOrFiles) {
  return () =>
    programsOrFiles.some((programOrFile) =>
      programOrFile.startsWith('/') ? existsSync(programOrFile) : findProgram(programOrFile) !== null,
    )
}

/** Of the system's own Python, which is the one that sandboxes see. */
function hasVenv() {
  return spawnSync('/usr/bin/python3', ['-c', 'import ensurepip']).status === 0
}

function mayInstall() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version') && findProgram('apt-get') !== null
}

/** @param {readonly string[]} names */
async function install(names) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  // Decided by the installation below: an unreachable source of something else makes `update` fail, too.
  await capture('apt-get', [...APT_OPTIONS, 'update', '-qq'], { env })
  await runQuietly('apt-get', [...APT_OPTIONS, 'install', '-y', '-qq', '--no-install-recommends', ...names], { env })
}
