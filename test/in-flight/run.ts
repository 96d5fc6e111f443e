/**
 * `npm run test:long -- in-flight`: members send all that they can, together; a neighbour must not notice.
 *
 * Forty open MCP calls of 15 MB to a server that never answers, 200 REST tool calls of 2 MB, bodies of 150,000 fields, 2,000 connections with half a
 * header. Meanwhile a neighbour runs commands and asks `/healthz`, and the server says how
 * long its event loop was held up. The figures depend on the machine: on a busy one compare them with those before.
 * `HOLDFAST_IN_FLIGHT_SECONDS` (20) chooses how long each phase is; `--report` prints figures that are too high without failing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { residentBytes } from '../../bench/process-status.ts'
import { withServer } from '../../bench/server-process.ts'
import type { ServerProcess } from '../../bench/server-process.ts'
import { cleanUp, cleanUpAbandoned } from '../environment/clean-up.ts'
import { prepareMachine } from '../environment/machine.ts'
import { createRunDirectory } from '../environment/run-directory.ts'

const SECONDS = Number(process.env['HOLDFAST_IN_FLIGHT_SECONDS'] ?? 20)
const MIB = 1024 * 1024
const EXEC_P99_MS = 1_000
const HEALTH_P99_MS = 100
const LOOP_MS = 50
const MEMORY_BYTES = 1024 * MIB
/** What the memory may be above what it was, once the member has left. */
const KEPT_BYTES = 256 * MIB
const SETTLE_MS = 60_000

/** Reads everything, and answers no call of a tool. */
const MUTE_SERVER = `
import json, sys
for line in sys.stdin:
    if len(line) > 100000: continue
    message = json.loads(line)
    if 'id' not in message or message['method'] == 'tools/call': continue
    result = {}
    if message['method'] == 'initialize':
        result = {'protocolVersion': message['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'mute', 'version': '1'}}
    elif message['method'] == 'tools/list':
        result = {'tools': [{'name': 'wait', 'inputSchema': {'type': 'object'}}]}
    print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)
`

const say = (line: string) => void process.stdout.write(`${line}\n`)

interface Figures {
  readonly count: number
  readonly refused: number
  readonly p50: number
  readonly p99: number
}

/** Repeats a request until `over` fires, one after the other. */
async function watched(ask: () => Promise<Response>, over: AbortSignal, pauseMs: number): Promise<Figures> {
  const times: number[] = []
  let refused = 0
  while (!over.aborted) {
    const before = performance.now()
    const response = await ask()
    await response.arrayBuffer()
    if (!response.ok) refused += 1
    times.push(performance.now() - before)
    await delay(pauseMs)
  }
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  return { count: times.length, refused, p50: at(0.5), p99: at(0.99) }
}

/** How long the server's event loop was held up, at most in each second. A machine that is virtual stops for longer now and then, without any load. */
const loopDelays: number[] = []

interface Phase {
  readonly exec: Figures
  readonly health: Figures
  readonly mostBytes: number
  /** The median of the longest times of each second. */
  readonly loopMs: number
}

function client({ port }: ServerProcess, key: string) {
  return (method: string, path: string, body?: unknown) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
}

/** What a neighbour and a health check see for so long. */
async function phase(server: ServerProcess, neighbour: ReturnType<typeof client>, name: string): Promise<Phase> {
  const over = AbortSignal.timeout(SECONDS * 1000)
  let mostBytes = 0
  loopDelays.length = 0
  const sampling = setInterval(() => (mostBytes = Math.max(mostBytes, residentBytes(server.pid))), 100)
  const [exec, health] = await Promise.all([
    watched(() => neighbour('POST', '/v1/exec', { session: 'mine', command: 'true' }), over, 20),
    watched(() => fetch(`http://127.0.0.1:${server.port}/healthz`), over, 10),
  ])
  clearInterval(sampling)
  const shown = ({ count, refused, p50, p99 }: Figures) => `${count} times, ${refused} refused, p50 ${p50} ms, p99 ${p99} ms`
  const loopMs = loopDelays.toSorted((one, other) => one - other)[Math.floor(loopDelays.length / 2)] ?? 0
  const load = loadavg().map((one) => one.toFixed(1))
  say(
    `${name}: exec ${shown(exec)}; /healthz ${shown(health)}; memory ${Math.round(mostBytes / MIB)} MiB; ` +
      `longest time without the event loop, by second ${loopDelays.join(' ')} ms, median ${loopMs} ms; load of the machine ${load.join(' ')}`,
  )
  return { exec, health, mostBytes, loopMs }
}

async function memberOf(server: ServerProcess, subject: string): Promise<string> {
  const made = await client(server, server.key)('POST', '/v1/keys', { name: subject, subject, role: 'member' })
  return ((await made.json()) as { key: string }).key
}

async function measure(server: ServerProcess): Promise<readonly string[]> {
  const admin = client(server, server.key)
  const config = { command: 'python3', args: ['-c', MUTE_SERVER] }
  const put = await admin('PUT', '/v1/mcp/servers/mute', config)
  if (!put.ok) throw new Error(`the MCP server was refused: ${await put.text()}`)
  const attackers = [await memberOf(server, 'mallory'), await memberOf(server, 'marvin'), await memberOf(server, 'morgan')] as const
  const neighbour = client(server, await memberOf(server, 'nina'))
  await (await neighbour('POST', '/v1/exec', { session: 'mine', command: 'true' })).text()
  for (const key of attackers) {
    const started = await client(server, key)('POST', '/v1/mcp/servers/mute/start', { session: 'attack' })
    if (!started.ok) throw new Error(`the MCP server did not start: ${await started.text()}`)
    await started.text()
  }

  const before = await phase(server, neighbour, 'before')
  const attacker = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', `${import.meta.dirname}/members.ts`, `${server.port}`, ...attackers],
    {
      stdio: ['pipe', 'inherit', 'inherit'],
    },
  )
  const left = once(attacker, 'close')
  const during = await phase(server, neighbour, 'during')
  attacker.stdin.end()
  await left
  const complaints: string[] = []
  const demand = (isTrue: boolean, complaint: string) => void (isTrue || complaints.push(complaint))
  demand(during.exec.p99 <= EXEC_P99_MS, `the neighbour's exec took ${during.exec.p99} ms at p99`)
  demand(during.health.p99 <= HEALTH_P99_MS, `/healthz took ${during.health.p99} ms at p99`)
  demand(during.exec.refused + during.health.refused === 0, 'somebody else was refused')
  demand(during.loopMs <= LOOP_MS, `the event loop was held up for ${during.loopMs} ms in half of all seconds`)
  demand(during.mostBytes < MEMORY_BYTES, `the server had ${Math.round(during.mostBytes / MIB)} MiB`)
  const bound = before.mostBytes + KEPT_BYTES
  for (const end = Date.now() + SETTLE_MS; Date.now() < end && residentBytes(server.pid) > bound;) await delay(500)
  const kept = residentBytes(server.pid)
  say(`after: memory ${Math.round(kept / MIB)} MiB`)
  demand(kept <= bound, `the server kept ${Math.round((kept - before.mostBytes) / MIB)} MiB`)
  return complaints
}

await cleanUpAbandoned()
const directory = await createRunDirectory()
try {
  const [under] = await prepareMachine(directory, ['bubblewrap'])
  if (under === undefined || under.skipReason !== null) throw new Error(under?.skipReason ?? 'there is no bubblewrap')
  const settings = { NODE_OPTIONS: `--import=${import.meta.dirname}/loop-delay.ts` }
  const onLog = (line: string) => {
    const held = /^event loop held up for (\d+) ms$/.exec(line)
    if (held !== null) loopDelays.push(Number(held[1]))
  }
  const complaints = await withServer({ under, needs: { stateDir: directory } }, { settings, onLog }, measure)
  for (const complaint of complaints) say(`✗ ${complaint}`)
  if (complaints.length > 0 && !process.argv.includes('--report')) process.exitCode = 1
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exitCode = 1
} finally {
  await cleanUp(directory)
}
