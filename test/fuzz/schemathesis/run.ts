/**
 * `npm run test:long -- schemathesis`: the same promises, tried by somebody else's tool over the same document.
 *
 * Installed from PyPI into a place that is removed afterwards. Without Python or PyPI it is skipped, with the reason.
 * `HOLDFAST_SCHEMATHESIS_EXAMPLES` (60) for each operation, `HOLDFAST_FUZZ_SEED`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withServer } from '../../../bench/server-process.ts'
import type { ServerProcess } from '../../../bench/server-process.ts'
import { cleanUp, cleanUpAbandoned } from '../../environment/clean-up.ts'
import { prepareMachine } from '../../environment/machine.ts'
import { findProgram, run } from '../../environment/program.ts'
import { createRunDirectory } from '../../environment/run-directory.ts'
import { createSender } from '../answer.ts'
import { createClients } from '../clients.ts'
import type { Clients } from '../clients.ts'
import { SETTINGS } from '../fuzz.ts'
import { createWorld } from '../world.ts'
import type { World } from '../world.ts'

const RELEASE = 'schemathesis==4.32.5'
/** Those that our document can be held to; whether valid data is accepted depends on more than a schema can say. */
const CHECKS = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance', 'response_headers_conformance'],
  ...[
    'response_schema_conformance',
    'negative_data_rejection',
    'unsupported_method',
    'allow_header_conformance',
    'ignored_auth',
    'use_after_free',
  ],
]
/** How wrong data may be refused: also for being too much. */
const REFUSALS = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 428, 429, 431]
/** A stream that never ends, and what only a WebSocket can ask. */
const ENDLESS = '(/files/watch|/terminal)$'
const TEND_EVERY_MS = 1_000

const { HOLDFAST_SCHEMATHESIS_EXAMPLES = '60', HOLDFAST_FUZZ_SEED } = process.env
const seed = HOLDFAST_FUZZ_SEED ?? String(Date.now() % 1_000_000)
const say = (line: string) => void process.stdout.write(`${line}\n`)

/** The program, or why there is none. */
async function install(directory: string): Promise<{ readonly program: string } | { readonly obstacle: string }> {
  const python = findProgram('python3')
  if (python === null) return { obstacle: 'there is no python3' }
  const place = join(directory, 'python')
  try {
    await run(python, ['-m', 'venv', place])
    await run(join(place, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', RELEASE])
    return { program: join(place, 'bin/schemathesis') }
  } catch (error) {
    return { obstacle: `${RELEASE} cannot be installed: ${String(error).split('\n').slice(0, 3).join(' | ')}` }
  }
}

/** What its hooks read: whole at every moment. */
function writeWorld(file: string, world: World, { keyOf }: Clients): void {
  const known = (...names: readonly string[]) => names.map((name) => world.resolve(`@@${name}@@`, ''))
  const ids = {
    sessions: known('session', 'session', 'idle_session'),
    executions: known('execution', 'terminal'),
    processes: ['sample'],
    ...{ tenants: known('tenant'), keys: known('key'), webhooks: known('webhook'), sandboxes: known('sandbox') },
  }
  writeFileSync(`${file}.next`, JSON.stringify({ keys: { member: keyOf('member'), admin: keyOf('admin') }, ids }))
  renameSync(`${file}.next`, file)
}

/** The exit code. */
async function tryServer({ port, key }: ServerProcess, program: string, directory: string): Promise<number> {
  const sender = createSender(port)
  const clients = await createClients(sender, key)
  const world = createWorld(clients)
  const file = join(directory, 'world.json')
  await world.tend()
  writeWorld(file, world, clients)
  writeFileSync(join(directory, 'schemathesis.toml'), `[checks]\nnegative_data_rejection.expected-statuses = [${REFUSALS.join(', ')}]\n`)
  const args = [
    ...['run', `http://127.0.0.1:${port}/openapi.json`, '--header', `Authorization: Bearer ${clients.keyOf('member')}`],
    ...['--checks', CHECKS.join(','), '--phases', 'examples,coverage,fuzzing,stateful', '--exclude-path-regex', ENDLESS],
    ...['--max-examples', HOLDFAST_SCHEMATHESIS_EXAMPLES, '--seed', seed, '--request-timeout', '60', '--warnings', 'off', '--no-color'],
  ]
  const hooks = { SCHEMATHESIS_HOOKS: 'hooks', PYTHONPATH: import.meta.dirname, PYTHONDONTWRITEBYTECODE: '1', HOLDFAST_FUZZ_WORLD: file }
  const child = spawn(program, args, { stdio: 'inherit', cwd: directory, env: { ...process.env, ...hooks } })
  const ended = once(child, 'close')
  while (child.exitCode === null && child.signalCode === null) {
    await Promise.race([ended, delay(TEND_EVERY_MS)])
    world.touch()
    await world.tend()
    writeWorld(file, world, clients)
  }
  await world.endEverything()
  sender.close()
  return child.exitCode ?? 1
}

await cleanUpAbandoned()
const directory = await createRunDirectory()
try {
  const [under] = await prepareMachine(directory, ['bubblewrap'])
  if (under === undefined || under.skipReason !== null) throw new Error(under?.skipReason ?? 'there is no bubblewrap')
  const tool = await install(directory)
  if ('obstacle' in tool) say(`skipped: schemathesis (${tool.obstacle})`)
  else {
    const failed: string[] = []
    const onLog = (line: string) => void (line.includes('"internal"') && failed.push(line))
    const place = { under, needs: { stateDir: directory } }
    process.exitCode = await withServer(place, { settings: SETTINGS, onLog }, (server) => tryServer(server, tool.program, directory))
    for (const line of failed) say(line)
    if (failed.length > 0) process.exitCode = 1
  }
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exitCode = 1
} finally {
  await cleanUp(directory)
}
