/**
 * A private PostgreSQL that can be restarted, killed, frozen, have its connections terminated, and be cut off by a proxy that stops forwarding.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from '../../environment/postgres.ts'
import type { Fault, FaultySubject } from './faulty-subject.ts'

/** Beyond the client's own limit for an answer (40 s), so that connections are given up on both sides. */
const LONG_CUT_MS = 45_000

export async function openFaultyPostgres(): Promise<FaultySubject> {
  const server = await startPostgres()
  const { host, port, user } = server
  const database = `t_${randomUUID().replaceAll('-', '')}`
  const ask = async (text: string, of = database) => {
    const client = new pg.Client({ host, port, user, database: of })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query<Record<string, string>>(text)).rows
    } finally {
      await client.end().catch(() => undefined)
    }
  }
  await ask(`CREATE DATABASE ${database}`, server.database)
  const proxy = await openProxy(join(host, `.s.PGSQL.${port}`))
  const restart = restarterOf(host)

  const faults: Readonly<Record<string, Fault>> = {
    restarted: { rounds: 10, inflict: () => restart('SIGINT', 0) },
    'killed -9': { rounds: 10, inflict: () => restart('SIGKILL', 2_000) },
    terminated: {
      rounds: 10,
      async inflict() {
        for (let turn = 0; turn < 10; turn += 1) {
          await ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'`)
          await delay(100)
        }
      },
    },
    'cut off': { rounds: 10, inflict: (round) => proxy.cutFor(round % 5 === 4 ? LONG_CUT_MS : 8_000) },
    frozen: {
      rounds: 10,
      async inflict() {
        const frozen = processesOf(host)
        for (const pid of frozen) process.kill(pid, 'SIGSTOP')
        await delay(12_000)
        for (const pid of frozen) process.kill(pid, 'SIGCONT')
      },
    },
  }
  return {
    name: 'PostgreSQL',
    faults,
    settings: { HOLDFAST_STORE_URL: `postgres://${user}@127.0.0.1:${proxy.port}/${database}` },
    useHome: () => undefined,
    records: async () =>
      (await ask('SELECT id, status, exit_code FROM executions')).map(({ id = '', status = '', exit_code: exitCode = null }) => ({
        ...{ id, status, exitCode: exitCode === null ? null : Number(exitCode) },
      })),
    async close() {
      proxy.close()
      await server.stop()
    },
  }
}

/** Ends every process of the server with a signal, and starts the same one again after a pause. */
function restarterOf(host: string): (signal: NodeJS.Signals, pauseMs: number) => Promise<void> {
  const data = join(host, 'data')
  return async (signal, pauseMs) => {
    const postmaster = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
    const [program = '', ...args] = readFileSync(`/proc/${postmaster}/cmdline`, 'utf8').split('\0').slice(0, -1)
    const { uid, gid } = statSync(data)
    const all = processesOf(host)
    for (const pid of signal === 'SIGKILL' ? all : [postmaster]) kill(pid, signal)
    while (all.some(isAlive)) await delay(20)
    await delay(pauseMs)
    const child = spawn(program, args, { cwd: host, uid, gid, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
    for await (const line of createInterface(child.stderr)) if (line.includes('ready to accept connections')) break
    child.stderr.resume()
    child.unref()
  }
}

function processesOf(host: string): readonly number[] {
  const postmaster = Number(readFileSync(join(host, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === postmaster)
  return [postmaster, ...children.map(Number)]
}

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null // it ended between the listing and the reading
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended by itself.
  }
}

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

/** Forwards TCP on the loopback to a unix socket; while it is cut, bytes of both directions wait and new connections get no answer. */
async function openProxy(path: string) {
  const sockets = new Set<Socket>()
  let isCut = false
  const proxy = createServer((incoming) => {
    const outgoing = createConnection(path)
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from)
      if (isCut) from.pause()
      from.on('data', (bytes) => to.write(bytes))
      if (isCut) from.pause()
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on TCP
  const { port } = proxy.address() as AddressInfo
  return {
    port,
    async cutFor(ms: number) {
      isCut = true
      for (const socket of sockets) socket.pause()
      await delay(ms)
      isCut = false
      for (const socket of sockets) socket.resume()
    },
    close() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
