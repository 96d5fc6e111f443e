/**
 * `npm run test:long -- upgrade`: this server takes over a home that an older revision made, with everything in it alive.
 *
 * The older revision is checked out of this repository's history, set up by its own scripts, and killed with SIGKILL while sandboxes run.
 * `HOLDFAST_UPGRADE_FROM` (b7e889b) names the revision, `HOLDFAST_UPGRADE_BACKEND` (bubblewrap) the backend.
 */
import { strict as assert } from 'node:assert'
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

const ROOT = join(import.meta.dirname, '..', '..')
// A server refuses variables of this prefix that it does not know, so it is not given ours.
const { HOLDFAST_UPGRADE_FROM: FROM = 'b7e889b', HOLDFAST_UPGRADE_BACKEND: BACKEND = 'bubblewrap', ...ENVIRONMENT } = process.env
const DEADLINE_MS = 120_000

/** A complete MCP server, so that a live one can be taken over. */
const MCP_SERVER = `
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if 'id' not in message: continue
    result = {}
    if message['method'] == 'initialize':
        result = {'protocolVersion': message['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'pid', 'version': '1'}}
    elif message['method'] == 'tools/list':
        result = {'tools': [{'name': 'pid', 'inputSchema': {'type': 'object'}}]}
    elif message['method'] == 'tools/call':
        result = {'content': [{'type': 'text', 'text': str(os.getpid()) + ' ' + os.environ['SECRET']}]}
    print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)
`

interface Server {
  readonly child: ChildProcess
  readonly url: string
}

/** Every resource here is found by `id` or `execution_id`. */
type Json = Record<string, unknown> & { readonly id: string; readonly execution_id: string }

const itemsOf = (page: Json) => page['items'] as readonly Json[]
const incarnationOf = (answer: Json) => (answer['session'] as Json)['incarnation']

const say = (line: string) => void process.stdout.write(`${line}\n`)

async function start(tree: string, home: string, port: string): Promise<Server> {
  const env = { ...ENVIRONMENT, HOLDFAST_HOME: home, HOLDFAST_BACKEND: BACKEND, HOLDFAST_SESSIONS_IDLE_SECONDS: '3600' }
  const child = spawn(process.execPath, [join(tree, 'scripts', 'run.mjs'), 'up', '--port', port], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  createInterface(child.stdout).on('line', (line) => {
    const address = /^holdfast is ready at (http:\S+)/.exec(line)?.[1]
    if (address !== undefined) resolve(address)
  })
  child.once('close', (code) => reject(new Error(`the server in ${tree} ended with ${code} before it was ready`)))
  return { child, url: await promise }
}

/** The process that serves is a child of the npm script; its id is in the home. */
async function end({ child }: Server, home: string, signal: NodeJS.Signals): Promise<void> {
  const closed = once(child, 'close')
  process.kill(Number(readFileSync(join(home, 'server.pid'), 'utf8')), signal)
  await closed
}

function client(url: string, key: string, headers: Readonly<Record<string, string>> = {}) {
  return async (method: string, path: string, body?: unknown, more: Readonly<Record<string, string>> = {}): Promise<Json> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers, ...more },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text === '' ? '{}' : text) as Json
  }
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const giveUpAt = Date.now() + DEADLINE_MS
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    assert.ok(Date.now() < giveUpAt, `${what}: not seen within ${DEADLINE_MS} ms`)
    await delay(100)
  }
}

/** Everything that a home can hold, made through the older server's API. */
async function populate(url: string, admin: string) {
  const asAdmin = client(url, admin)
  const makeKey = async (key: object) => (await asAdmin('POST', '/v1/keys', key)) as Json & { readonly key: string }
  const { key: alice, id: aliceKey } = await makeKey({ name: 'alice', subject: 'alice', role: 'member' })
  const { key: service } = await makeKey({ name: 'bot', subject: 'bot', kind: 'service', role: 'member' })
  await asAdmin('POST', '/v1/skills', { name: 'greet', description: 'greets', instructions: 'Say hello.' })
  const webhook = await asAdmin('POST', '/v1/webhooks', { url: 'https://hooks.example.com/in?token=upgrade-secret' })
  await asAdmin('PUT', '/v1/mcp/servers/pid', { command: 'python3', args: ['-c', MCP_SERVER], env: { SECRET: 'sealed-value' } })

  const asAlice = client(url, alice)
  const live = await asAlice('POST', '/v1/sessions', { key: 'live', wait_ms: 30_000 })
  const first = await asAlice('POST', '/v1/exec', {
    session_id: live.id,
    command: 'echo kept > note; mkdir -p d; echo deep > d/file; echo at-home > ~/note; echo output',
  })
  const loop = await asAlice('POST', `/v1/sessions/${live.id}/executions`, {
    command: 'i=0; while :; do i=$((i+1)); echo line $i; echo $i > clock; sleep 0.2; done',
  })
  const named = await asAlice('POST', `/v1/sessions/${live.id}/processes`, {
    name: 'web',
    command: 'python3 -m http.server 8000',
    restart: { policy: 'always' },
  })
  const answered = await asAlice(
    'POST',
    '/v1/exec',
    { session_id: live.id, command: 'date +%s%N' },
    { 'idempotency-key': 'before-the-upgrade' },
  )
  const called = await asAlice('POST', '/v1/mcp/servers/pid/tools/pid', { session_id: live.id, arguments: {} })

  const asleep = await asAlice('POST', '/v1/sessions', { key: 'asleep', wait_ms: 30_000 })
  await asAlice('POST', '/v1/exec', { session_id: asleep.id, command: 'echo asleep > note; chmod 600 note' })
  await asAlice('POST', `/v1/sessions/${asleep.id}/suspend`)
  await until('the suspended session', async () =>
    (await asAlice('GET', `/v1/sessions/${asleep.id}`))['state'] === 'suspended' ? true : undefined,
  )

  const asBob = client(url, service, { 'x-holdfast-on-behalf-of': 'bob' })
  const bobs = await asBob('POST', '/v1/sessions', { key: 'bobs', wait_ms: 30_000 })
  await asBob('POST', '/v1/exec', { session_id: bobs.id, command: 'echo bob > note' })
  return { alice, aliceKey, service, webhook, live, first, loop, named, answered, called, asleep, bobs }
}

async function verify(url: string, admin: string, before: Awaited<ReturnType<typeof populate>>) {
  const { live, asleep, bobs } = before
  const asAdmin = client(url, admin)
  const asAlice = client(url, before.alice)
  const asBob = client(url, before.service, { 'x-holdfast-on-behalf-of': 'bob' })
  const check = async (claim: string, prove: () => Promise<void>) => {
    await prove()
    say(`✓ ${claim}`)
  }
  const run = async (ask: typeof asAlice, session: Json, command: string) => {
    const result = await ask('POST', '/v1/exec', { session_id: session.id, command })
    assert.equal(result['status'], 'completed', JSON.stringify(result))
    return (result['stdout'] as string).trim()
  }

  await check('a live session keeps its sandbox, its incarnation and its files', async () => {
    const now = await asAlice('POST', '/v1/exec', { session_id: live.id, command: 'true' })
    assert.equal(incarnationOf(now), incarnationOf(before.first))
    assert.equal(await run(asAlice, live, 'cat note d/file; echo more >> note; tail -n 1 note'), 'kept\ndeep\nmore')
  })
  await check('a live sandbox keeps the home that it started with', async () => {
    assert.equal(await run(asAlice, live, 'cat ~/note; echo more >> ~/note; tail -n 1 ~/note'), 'at-home\nmore')
  })
  await check('a detached command goes on, with its output from the first line', async () => {
    const path = `/v1/sessions/${live.id}/executions/${before.loop.execution_id}`
    assert.equal((await asAlice('GET', path))['status'], 'running')
    const clock = await run(asAlice, live, 'cat clock')
    await until('the clock', async () => ((await run(asAlice, live, 'cat clock')) === clock ? undefined : true))
    const output = await fetch(`${url}${path}/output`, { headers: { authorization: `Bearer ${before.alice}` } })
    assert.match(await output.text(), /line 1\b/)
  })
  await check('a named process is the same process', async () => {
    const process = await asAlice('GET', `/v1/sessions/${live.id}/processes/web`)
    assert.equal(process.execution_id, before.named.execution_id)
    assert.equal(process['status'], 'running')
  })
  await check('an answer kept for an Idempotency-Key is repeated', async () => {
    const request = { session_id: live.id, command: 'date +%s%N' }
    const again = await asAlice('POST', '/v1/exec', request, { 'idempotency-key': 'before-the-upgrade' })
    assert.equal(again.execution_id, before.answered.execution_id)
    assert.equal(again['stdout'], before.answered['stdout'])
  })
  await check('an MCP server is the same process, with its sealed environment', async () => {
    const called = await asAlice('POST', '/v1/mcp/servers/pid/tools/pid', { session_id: live.id, arguments: {} })
    assert.deepEqual(called['content'], before.called['content'])
    assert.match(JSON.stringify(called), /sealed-value/)
  })
  await check('a suspended session resumes over its files and may change them', async () => {
    assert.equal(await run(asAlice, asleep, 'cat note; echo again > note; cat note; touch new; rm new; id -u'), 'asleep\nagain\n1000')
  })
  await check('a service key finds the sessions of its users', async () => {
    assert.equal(await run(asBob, bobs, 'cat note; echo more >> note'), 'bob')
    assert.equal((await asBob('POST', '/v1/sessions', { key: 'bobs', wait_ms: 30_000 })).id, bobs.id)
  })
  await check('a session that is suspended and resumed by the new server keeps its files', async () => {
    await asBob('POST', `/v1/sessions/${bobs.id}/suspend`)
    await until('the suspension', async () => ((await asBob('GET', `/v1/sessions/${bobs.id}`))['state'] === 'suspended' ? true : undefined))
    assert.equal(await run(asBob, bobs, 'cat note; echo third >> note; tail -n 1 note'), 'bob\nmore\nthird')
  })
  await check('from its next sandbox on a session of before keeps its home', async () => {
    const suspend = async () => {
      await asBob('POST', `/v1/sessions/${bobs.id}/suspend`)
      await until('the suspension', async () =>
        (await asBob('GET', `/v1/sessions/${bobs.id}`))['state'] === 'suspended' ? true : undefined,
      )
    }
    await run(asBob, bobs, 'mkdir -p ~/.local/bin; echo "echo installed" > ~/.local/bin/tool; chmod +x ~/.local/bin/tool')
    await suspend()
    assert.equal(await run(asBob, bobs, 'tool; head -n 1 note'), 'installed\nbob')
  })
  await check('keys, skills and webhooks are there, and the audit verifies', async () => {
    const keys = await asAdmin('GET', '/v1/keys')
    assert.ok(itemsOf(keys).some(({ id }) => id === before.aliceKey))
    await asAdmin('GET', '/v1/skills/greet')
    const hooks = await asAdmin('GET', '/v1/webhooks')
    assert.ok(itemsOf(hooks).some(({ id }) => id === before.webhook.id))
    assert.equal((await asAdmin('POST', '/v1/audit/verify', {}))['problems'], 0)
  })
  await check('no sandbox is left when all sessions are cancelled', () => cancelAll(url, admin))
}

async function cancelAll(url: string, admin: string): Promise<void> {
  const asAdmin = client(url, admin)
  for (const { id } of itemsOf(await asAdmin('GET', '/v1/sessions'))) await asAdmin('POST', `/v1/sessions/${id}/cancel`)
  await until('the last sandbox', async () => (itemsOf(await asAdmin('GET', '/v1/sandboxes')).length === 0 ? true : undefined))
}

const directory = mkdtempSync(join(tmpdir(), 'holdfast-upgrade-'))
const oldTree = join(directory, 'old')
const home = join(directory, 'home')
let server: Server | undefined
try {
  execFileSync('git', ['worktree', 'add', '--detach', oldTree, FROM], { cwd: ROOT, stdio: 'ignore' })
  say(`from ${FROM} to this tree, on ${BACKEND}`)
  server = await start(oldTree, home, '0')
  const admin = readFileSync(join(home, 'admin.key'), 'utf8').trim()
  const before = await populate(server.url, admin)
  const { port } = new URL(server.url)
  await end(server, home, 'SIGKILL')
  server = await start(ROOT, home, port)
  await verify(server.url, admin, before)
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exitCode = 1
} finally {
  if (server?.child.exitCode === null) {
    await cancelAll(server.url, readFileSync(join(home, 'admin.key'), 'utf8').trim())
    await end(server, home, 'SIGTERM')
  }
  execFileSync('git', ['worktree', 'remove', '--force', oldTree], { cwd: ROOT, stdio: 'ignore' })
  rmSync(directory, { recursive: true, force: true })
}
