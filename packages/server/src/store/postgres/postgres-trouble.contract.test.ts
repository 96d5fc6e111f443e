/** What only a server can meet: it stops, it drops a connection, it finds a deadlock. The store goes on without a restart of ours. */
import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { postgresObstacle, startPostgres, type PrivatePostgres } from '../../../../../test/environment/postgres.ts'
import { insertThing, makeThings, outcomeOf, thingIds, versionOf } from '../contract/things.ts'
import { openStore } from '../open-store.ts'
import type { Store, Transaction } from '../store.ts'
import { openPostgresStore } from './postgres-store.ts'

const obstacle = postgresObstacle()

describe.skipIf(obstacle !== null)(`trouble with PostgreSQL${obstacle === null ? '' : ` (skipped: ${obstacle})`}`, () => {
  let server: PrivatePostgres
  let store: Store
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    const { host, port, user, database } = server
    store = await openPostgresStore({ host, port, user, database })
    await store.write((transaction) => transaction.run('DROP TABLE IF EXISTS things'))
    await makeThings(store)
  })
  afterEach(() => store.close())

  test('a server that stops and starts again is an error in between, and then works', async () => {
    await store.write((transaction) => insertThing(transaction, 'before'))
    const start = await stopServer(server)
    const attempt = store.write((transaction) => insertThing(transaction, 'between'))
    await expect(attempt).rejects.toMatchObject({ code: 'store_unavailable', message: expect.stringContaining(server.host) })
    expect(await outcomeOf(store.read((sql) => sql.get('SELECT 1 AS one')))).toBe('store_unavailable')
    await start()
    await store.write((transaction) => insertThing(transaction, 'later'))
    expect(await thingIds(store)).toEqual(['before', 'later'])
  })

  test('a connection that is cut in a transaction is an error, leaves nothing, and the next one works', async () => {
    const attempt = store.write(async (transaction) => {
      await insertThing(transaction, 'a')
      await cutOff(transaction)
      await insertThing(transaction, 'b')
    })
    expect(await outcomeOf(attempt)).toBe('store_unavailable')
    for (let round = 0; round < 15; round++) expect(await outcomeOf(store.read((sql) => cutOff(sql)))).toBe('store_unavailable')
    await store.write((transaction) => insertThing(transaction, 'c'))
    expect(await thingIds(store)).toEqual(['c'])
  })

  test('a server that falls silent is given up, and its connection is used by nobody else', async () => {
    const { host, port, user, database } = server
    const impatient = await openPostgresStore({ host, port, user, database, query_timeout: 2_000 })
    const attempt = impatient.write(async (transaction) => {
      await insertThing(transaction, 'silent')
      await transaction.get('SELECT pg_sleep(60)')
    })
    expect(await outcomeOf(attempt)).toBe('store_unavailable')
    await impatient.write((transaction) => insertThing(transaction, 'next'))
    expect(await thingIds(impatient)).toEqual(['next'])
    await impatient.close()
  })

  test('a connection that is cut between two statements is an error of its transaction, and of nothing else', async () => {
    const attempt = store.write(async (transaction) => {
      await insertThing(transaction, 'a')
      const row = await transaction.get('SELECT pg_backend_pid() AS pid')
      await store.read((sql) => sql.get('SELECT pg_terminate_backend(?, 5000)', row?.pid ?? null))
      for (let turn = 0; turn < 20; turn++) await setImmediate() // the end of the connection is noticed while nothing runs on it
      await insertThing(transaction, 'b')
    })
    expect(await outcomeOf(attempt)).toBe('store_unavailable')
    await store.write((transaction) => insertThing(transaction, 'c'))
    expect(await thingIds(store)).toEqual(['c'])
  })

  test('a connection that is cut during the commit is told as what it is: unknown', async () => {
    await store.write(async (transaction) => {
      await transaction.run(`CREATE OR REPLACE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'`)
      await transaction.run(`CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON things
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hang_up()`)
    })
    const seen: string[] = []
    const attempt = store.write(async (transaction) => {
      transaction.afterCommit(() => seen.push('kept'))
      await insertThing(transaction, 'a')
    })
    await expect(attempt).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('it is not known whether the change was kept'),
      details: { isOutcomeKnown: false },
    })
    expect(seen).toEqual([])
    expect(await thingIds(store)).toEqual([])
  })

  test('a connection that is cut while nothing runs on it does no harm', async () => {
    const others = 'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = ?'
    await Promise.all(Array.from({ length: 5 }, () => thingIds(store)))
    await store.read((sql) => sql.all(others, 'holdfast'))
    await store.write((transaction) => insertThing(transaction, 'a'))
    expect(await thingIds(store)).toEqual(['a'])
  })

  test('of two works in a deadlock the one that is taken back runs again', async () => {
    await store.write(async (transaction) => {
      for (const id of ['a', 'b']) await insertThing(transaction, id)
    })
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const runs = [0, 0]
    const committed: number[] = []
    const add = (index: number, ids: readonly string[]) =>
      store.write(async (transaction) => {
        runs[index] = (runs[index] ?? 0) + 1
        transaction.afterCommit(() => committed.push(index))
        for (const id of ids) {
          await transaction.run('UPDATE things SET version = version + 1 WHERE id = ?', id)
          both[index]?.resolve()
          await Promise.all(both.map(({ promise }) => promise)) // each has one row before either asks for the other
        }
      })
    await Promise.all([add(0, ['a', 'b']), add(1, ['b', 'a'])])
    expect(new Set(runs)).toEqual(new Set([1, 2]))
    expect(committed).toHaveLength(2)
    expect(await store.read(async (sql) => [await versionOf(sql, 'a'), await versionOf(sql, 'b')])).toEqual([2, 2])
  })

  test('an address opens it as well, with all tables', async () => {
    const url = `postgres://${server.user}@/${server.database}?host=${encodeURIComponent(server.host)}&port=${server.port}`
    const opened = await openStore({ url, home: '/nonexistent' })
    expect(await opened.read((sql) => sql.get('SELECT COUNT(*) AS count FROM sessions'))).toEqual({ count: 0 })
    await opened.close()
  })

  test('power waits for the disk and process does not, whatever the server has as its default', async () => {
    const setting = async (transaction: Transaction) => (await transaction.get('SHOW synchronous_commit'))?.synchronous_commit
    expect(await store.write(setting, 'power')).toBe('on')
    expect(await store.write(setting, 'process')).toBe('off')
    expect(await store.write(setting)).toBe('on')
  })
})

async function cutOff(sql: Pick<Transaction, 'get'>): Promise<void> {
  await sql.get('SELECT pg_terminate_backend(pg_backend_pid())')
}

/** Ends the server as an operator would; gives what starts the same one again. */
async function stopServer({ host }: PrivatePostgres): Promise<() => Promise<void>> {
  const data = join(host, 'data')
  const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
  const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  const { uid, gid } = statSync(data)
  process.kill(pid, 'SIGINT')
  await expect.poll(() => isAlive(pid)).toBe(false)
  return async () => {
    const child = spawn(program, args, { cwd: host, uid, gid, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
    for await (const line of createInterface(child.stderr)) if (line.includes('ready to accept connections')) break
    child.stderr.resume()
    child.unref()
  }
}

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false // gone
  }
}
