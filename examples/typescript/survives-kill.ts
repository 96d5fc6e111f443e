/**
 * A conversation that survives `kill -9` of the server: its file, its running process, and every line that it prints.
 *
 * Starts a server of its own, in a home of its own that is removed at the end. On bubblewrap, unless HOLDFAST_BACKEND says otherwise.
 *
 *     node examples/typescript/survives-kill.ts
 *
 * It prints (… is anything):
 *
 *     a counter runs in the sandbox, and has come to 10
 *     kill -9 of the server, process …: ended by SIGKILL
 *     a new server, process …: {"sessions":1,"reattached":1,"lost":0}
 *     the counter has come to 60; lines that were lost or came twice: 0
 *     it is the same process: true
 *     the file: written before the kill
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Holdfast } from '@holdfast/sdk'
import { linesOf } from './lines.ts'

const home = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
const port = await freePort()
const apiKey = randomUUID()
let server = await startServer()
try {
  const holdfast = new Holdfast({ url: `http://127.0.0.1:${port}`, apiKey })
  const session = await holdfast.sessions.getOrCreate({ key: 'conversation' })
  await session.files.write('note.txt', 'written before the kill\n')
  const count = 'echo $$ > pid; i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done'
  const counter = await session.processes.start('counter', count)

  // One loop over what the counter prints, from before the kill until long after it: the client finds its place again by itself.
  let last = 0
  let wrong = 0
  for await (const line of linesOf(counter.execution.output())) {
    wrong += Number(line) === last + 1 ? 0 : 1
    last = Number(line)
    if (last === 60) break
    if (last !== 10) continue
    console.log(`a counter runs in the sandbox, and has come to ${last}`)
    server.child.kill('SIGKILL')
    const [, signal] = await once(server.child, 'exit')
    console.log(`kill -9 of the server, process ${server.child.pid}: ended by ${signal}`)
    server = await startServer()
    console.log(`a new server, process ${server.child.pid}: ${JSON.stringify(server.recovered)}`)
  }
  console.log(`the counter has come to ${last}; lines that were lost or came twice: ${wrong}`)
  const { executionId, status } = await session.processes.get('counter')
  const alive = await session.commands.run('kill -0 $(cat pid)')
  console.log(`it is the same process: ${executionId === counter.executionId && status === 'running' && alive.exitCode === 0}`)
  console.log(`the file: ${(await session.files.readText('note.txt')).trim()}`)
  await session.release({ ifBusy: 'kill' })
} finally {
  server.child.kill('SIGTERM')
  if (server.child.exitCode === null && server.child.signalCode === null) await once(server.child, 'exit')
  rmSync(home, { recursive: true, force: true })
}

interface Server {
  readonly child: ChildProcess
  /** What it found of an earlier life. */
  readonly recovered: object
}

/** Resolves when it listens, which its log says. */
async function startServer(): Promise<Server> {
  const { PATH, HOME, HOLDFAST_BACKEND = 'bubblewrap' } = process.env
  const main = join(import.meta.dirname, '..', '..', 'packages', 'server', 'src', 'main.ts')
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main], {
    env: {
      PATH,
      HOME,
      HOLDFAST_BACKEND,
      HOLDFAST_HOME: home,
      HOLDFAST_PORT: String(port),
      HOLDFAST_API_KEY: apiKey,
      HOLDFAST_SESSIONS_ON_STOP: 'suspend',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const started = Promise.withResolvers<Server>()
  createInterface(child.stderr)
    .on('line', (line) => {
      if (!line.startsWith('{')) return console.error(line)
      const { event, sessions, reattached, lost } = JSON.parse(line)
      if (event === 'server-started') started.resolve({ child, recovered: { sessions, reattached, lost } })
    })
    .on('close', () => started.reject(new Error('the server ended before it listened')))
  return started.promise
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (typeof address === 'string' || address === null) throw new Error('this machine gives no port')
  return address.port
}
