/**
 * Entry of every npm script: does all set-up that is still missing, then runs the command.
 *
 * Runs on any Node from 20 on and needs nothing installed. With nothing to do the set-up costs a few milliseconds.
 */
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildGuest } from './build-guest.mjs'
import { bundle } from './bundle.mjs'
import { runChecks } from './check.mjs'
import { runInForeground } from './set-up/command.mjs'
import { ensureNode } from './set-up/node-runtime.mjs'
import { ensureNpmDependencies } from './set-up/npm-dependencies.mjs'
import { say, SetUpError } from './set-up/say.mjs'
import { ensureSystemPackages } from './set-up/system-packages.mjs'
import { runLongTests } from './test-long.mjs'
import { runTests } from './test.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * @typedef {object} Machine
 * @property {string} node
 * @property {NodeJS.ProcessEnv} env with the right Node first on the PATH
 */

/**
 * @typedef {object} Command
 * @property {boolean | ((args: readonly string[]) => boolean)} needsSandboxes
 * @property {boolean | ((args: readonly string[]) => boolean)} needsGuest
 * @property {(machine: Machine, args: readonly string[]) => Promise<number>} run
 */

/** @type {Record<string, Command>} */
const COMMANDS = {
  up: { needsSandboxes: true, needsGuest: true, run: async (machine, args) => runScript(machine, [await bundle(root), 'up', ...args]) },
  holdfast: {
    needsSandboxes: makesSandboxes,
    needsGuest: makesSandboxes,
    run: async (machine, args) => runScript(machine, [await bundle(root), ...args]),
  },
  bench: { needsSandboxes: true, needsGuest: true, run: (machine, args) => runScript(machine, ['bench/main.ts', ...args]) },
  test: { needsSandboxes: true, needsGuest: true, run: ({ node, env }, args) => runTests(root, node, env, args) },
  'test:long': { needsSandboxes: true, needsGuest: true, run: ({ node, env }, args) => runLongTests(root, node, env, args) },
  check: { needsSandboxes: false, needsGuest: true, run: ({ env }) => runChecks(root, env) },
  format: {
    needsSandboxes: false,
    needsGuest: false,
    run: ({ env }, args) => runInForeground(join(root, 'node_modules', '.bin', 'oxfmt'), args, { cwd: root, env }),
  },
}

/**
 * Verbs that only ask a server need no compiler and no package of the system: they also serve a machine that never makes a sandbox.
 *
 * @param {readonly string[]} args flags before the verb take a value each
 */
function makesSandboxes(args) {
  let at = 0
  while (args[at]?.startsWith('-') === true) at += args[at]?.includes('=') === true ? 1 : 2
  const [verb = '', next] = args.slice(at)
  return ['up', 'box'].includes(verb) || (['sandbox', 'sandboxes'].includes(verb) && next === 'run')
}

/**
 * The caller's directory stays, because paths in the arguments mean what they mean there.
 *
 * @param {Machine} machine
 * @param {readonly [string, ...string[]]} script relative to the repository, then its arguments
 */
function runScript({ node, env }, [script, ...args]) {
  return runInForeground(node, ['--disable-warning=ExperimentalWarning', join(root, script), ...args], {
    cwd: env.INIT_CWD ?? process.cwd(),
    env,
  })
}

/** @param {readonly string[]} argv */
async function main([name = '', ...args]) {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) throw new SetUpError(`unknown command '${name}'; there are: ${Object.keys(COMMANDS).join(', ')}`)
  const node = await ensureNode(root)
  const env = { ...process.env, HOLDFAST_SETUP_CLONE: root, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` }
  await ensureNpmDependencies(root, node, env)
  const needs = (/** @type {Command['needsGuest']} */ need) => (typeof need === 'function' ? need(args) : need)
  if (needs(command.needsSandboxes)) await ensureSystemPackages()
  if (needs(command.needsGuest)) await buildGuest(root)
  return command.run({ node, env }, args)
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  say(error instanceof SetUpError ? error.message : String(error instanceof Error ? error.stack : error))
  process.exitCode = 1
}
