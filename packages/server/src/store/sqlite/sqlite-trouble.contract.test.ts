/** What only a file can meet: locks, a full disk, damage. Each gives a clear error, and what was acknowledged is there afterwards. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cleanUp } from '../../../../../test/environment/clean-up.ts'
import { createRunDirectory } from '../../../../../test/environment/run-directory.ts'
import { insertThing, makeThings, outcomeOf, thingIds } from '../contract/things.ts'
import { migrate } from '../migrate.ts'
import { openStore } from '../open-store.ts'
import type { Store, Transaction } from '../store.ts'
import { openSqliteStore, type SqliteOptions } from './sqlite-store.ts'

let directory: string
let path: string
const stores: Store[] = []
const children: ChildProcess[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-trouble-'))
  path = join(directory, 'test.db')
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await closeAll()
  rmSync(directory, { recursive: true, force: true })
})

async function open(options: SqliteOptions = {}, at = path): Promise<Store> {
  const store = await openSqliteStore(at, options)
  stores.push(store)
  return store
}

async function closeAll(): Promise<void> {
  await Promise.all(stores.splice(0).map((store) => store.close()))
}

describe('a locked database', () => {
  test('is an error for writers that names the file, and no obstacle for readers; afterwards all is well', async () => {
    const store = await open({ lockWaitMs: 30 })
    await makeThings(store)
    const release = await lockElsewhere('BEGIN IMMEDIATE')
    const attempt = store.write((transaction) => insertThing(transaction, 'a'))
    await expect(attempt).rejects.toMatchObject({
      code: 'store_unavailable',
      message: `another process locks the database ${path}; nothing was changed`,
    })
    expect(await thingIds(store)).toEqual([])
    await release()
    await store.write((transaction) => insertThing(transaction, 'b'))
    expect(await thingIds(store)).toEqual(['b'])
  })

  test('is waited for, while the rest of the server goes on', async () => {
    const store = await open({ lockWaitMs: 600_000 })
    await makeThings(store)
    const release = await lockElsewhere('BEGIN IMMEDIATE')
    const write = store.write((transaction) => insertThing(transaction, 'a'))
    for (let turn = 0; turn < 5; turn++) await setImmediate() // by now it has met the lock
    await release() // hears of the other process only if the event loop turns
    await write
    expect(await thingIds(store)).toEqual(['a'])
  })

  test('cannot be opened while another process has it for itself', async () => {
    await makeThings(await open())
    await closeAll()
    const release = await lockElsewhere('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    expect(await outcomeOf(open({ lockWaitMs: 30 }))).toBe('store_unavailable')
    await release()
    expect(await thingIds(await open())).toEqual([])
  })
})

describe('a full disk', () => {
  test('is an error, what was acknowledged stays, and writing goes on when there is space', async (context) => {
    const home = await createRunDirectory()
    const disk = join(home, 'disk')
    try {
      mkdirSync(disk)
      if (!canMount(disk)) context.skip('no permission to mount a small file system')
      const filler = join(disk, 'filler')
      const at = join(disk, 'test.db')
      const store = await open({}, at)
      await makeThings(store)
      fill(filler)
      const kept: string[] = []
      let outcome = 'done'
      while (outcome === 'done') {
        const id = `t${String(kept.length).padStart(4, '0')}`
        outcome = await outcomeOf(store.write((transaction) => insertThing(transaction, id, kept.length, 'x'.repeat(5_000)), 'power'))
        if (outcome === 'done') kept.push(id)
      }
      expect(outcome).toBe('store_full')
      expect(await thingIds(store)).toEqual(kept)
      rmSync(filler)
      await store.write((transaction) => insertThing(transaction, 'with-space'))
      await closeAll()
      expect(await thingIds(await open({}, at))).toEqual([...kept, 'with-space'])
      await closeAll()
    } finally {
      await closeAll()
      await cleanUp(home)
    }
  })

  test('rejects the one that needs too much; what was acknowledged stays and smaller ones go on', async () => {
    const store = await open()
    await makeThings(store)
    await store.write((transaction) => transaction.all('PRAGMA max_page_count = 30'))
    const huge = store.write((transaction) => insertThing(transaction, 'huge', 1, 'x'.repeat(1_000_000)))
    await expect(huge).rejects.toMatchObject({
      code: 'store_full',
      message: `no space is left for the database ${path}; nothing was changed`,
    })
    await store.write((transaction) => insertThing(transaction, 'small'))
    expect(await thingIds(store)).toEqual(['small'])
  })

  test('loses nobody silently when it meets several writes in one commit', async () => {
    const store = await open()
    await makeThings(store)
    await store.write((transaction) => transaction.all('PRAGMA max_page_count = 30'))
    const ids = ['a', 'b', 'huge', 'c', 'd']
    const outcomes = await Promise.all(
      ids.map((id) => outcomeOf(store.write((transaction) => insertThing(transaction, id, 0, 'x'.repeat(id === 'huge' ? 1_000_000 : 9))))),
    )
    expect(outcomes[2]).toBe('store_full')
    const acknowledged = ids.filter((_, index) => outcomes[index] === 'done')
    expect(await thingIds(store)).toEqual(acknowledged.toSorted())
  })
})

describe('a damaged file', () => {
  test('is refused at the start, stays as it is, and works once it is restored', async () => {
    const whole = await largeDatabase()
    const damaged = withDamage(whole)
    writeFileSync(path, damaged)
    const attempt = open()
    await expect(attempt).rejects.toMatchObject({ code: 'store_corrupt', message: expect.stringContaining(path) })
    expect(readFileSync(path).equals(damaged)).toBe(true)
    writeFileSync(path, whole)
    expect(await thingIds(await open())).toHaveLength(ROWS)
  })

  test('is reported when it is met later, and not written any further', async () => {
    const whole = await largeDatabase()
    const store = await open()
    writeFileSync(path, withDamage(whole), { flag: 'r+' })
    expect(await outcomeOf(store.read((sql) => sql.all('SELECT MAX(LENGTH(state)) AS longest FROM things')))).toBe('store_corrupt')
    expect(await outcomeOf(store.write((transaction) => transaction.all('SELECT MAX(LENGTH(state)) AS longest FROM things')))).toBe(
      'store_corrupt',
    )
    expect(await outcomeOf(store.write((transaction) => transaction.run('CREATE TABLE harmless (id TEXT)')))).toBe('store_corrupt')
  })

  test('that is no database at all is refused and left alone', async () => {
    for (const text of ['short', 'this is a letter to a friend\n'.repeat(500)]) {
      writeFileSync(path, text)
      await expect(open()).rejects.toMatchObject({ code: 'store_corrupt', message: expect.stringContaining(path) })
      expect(readFileSync(path, 'utf8')).toBe(text)
      expect(readdirSync(directory)).toEqual(['test.db'])
    }
  })

  test('that is a directory, or in one that is missing, is an error that names it', async () => {
    const { mode } = statSync(directory)
    await expect(open({}, directory)).rejects.toMatchObject({ code: 'store_unavailable', message: expect.stringContaining(directory) })
    expect(statSync(directory).mode).toBe(mode)
    await expect(open({}, join(directory, 'missing', 'test.db'))).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining(join(directory, 'missing')),
    })
  })
})

describe('the file', () => {
  test('and those beside it are for their owner only, whatever they were before', async () => {
    writeFileSync(path, '', { mode: 0o644 })
    const store = await open()
    await makeThings(store)
    const modes = readdirSync(directory).map((name) => [name, statSync(join(directory, name)).mode & 0o777])
    expect(Object.fromEntries(modes)).toEqual({ 'test.db': 0o600, 'test.db-shm': 0o600, 'test.db-wal': 0o600 })
  })

  test('of a newer version stays as it was byte for byte, also where a crash left a log beside it', async () => {
    const running = await open({}, join(directory, 'running.db'))
    await migrate(running)
    await running.write((transaction) => transaction.run(`INSERT INTO migrations VALUES (99, 'later')`))
    const copy = join(directory, 'holdfast.db')
    for (const suffix of ['', '-wal']) copyFileSync(join(directory, `running.db${suffix}`), `${copy}${suffix}`)
    const before = [readFileSync(copy), readFileSync(`${copy}-wal`)]
    expect(await outcomeOf(openStore({ url: null, home: directory }))).toBe('store_too_new')
    expect([readFileSync(copy), readFileSync(`${copy}-wal`)]).toEqual(before)
  })
})

test('writes of one turn share one commit: none is told before the last has run', async () => {
  const store = await open()
  await makeThings(store)
  const seen: string[] = []
  const writes = ['a', 'b', 'c'].map(async (id) => {
    await store.write(async (transaction) => {
      await insertThing(transaction, id)
      seen.push(`run ${id}`)
      transaction.afterCommit(() => seen.push(`kept ${id}`))
    })
  })
  await Promise.all(writes)
  expect(seen).toEqual(['run a', 'run b', 'run c', 'kept a', 'kept b', 'kept c'])
})

test('power waits for the disk and process does not; one that wants power has it for all that share its commit', async () => {
  const store = await open()
  const NORMAL = 1
  const FULL = 2
  const setting = async (transaction: Transaction) => (await transaction.get('PRAGMA synchronous'))?.synchronous
  expect(await store.write(setting, 'process')).toBe(NORMAL)
  expect(await store.write(setting, 'power')).toBe(FULL)
  expect(await store.write(setting)).toBe(FULL)
  expect(await Promise.all([store.write(setting, 'process'), store.write(setting, 'power')])).toEqual([FULL, FULL])
})

const ROWS = 2_000

/** Larger than SQLite's cache, so that a damage is seen. */
async function largeDatabase(): Promise<Buffer> {
  const store = await open()
  await makeThings(store)
  await store.write(async (transaction) => {
    for (let index = 0; index < ROWS; index++) await insertThing(transaction, `t${index}`, index, 'x'.repeat(3_000))
  })
  await closeAll()
  return readFileSync(path)
}

/** The middle third is overwritten. */
function withDamage(whole: Buffer): Buffer {
  const third = Math.floor(whole.length / 3)
  return Buffer.from(whole).fill(0xa5, third, 2 * third)
}

/** Another process takes the lock; gives what makes it let go. */
async function lockElsewhere(statement: string): Promise<() => Promise<void>> {
  const script = `
    const { DatabaseSync } = require('node:sqlite')
    const database = new DatabaseSync(process.argv[1], { timeout: 5000 })
    database.exec(process.argv[2])
    process.stdout.write('locked')
    process.stdin.on('end', () => database.close()).resume()`
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', script, path, statement], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  const [said] = await once(child.stdout, 'data')
  expect(String(said)).toBe('locked')
  return async () => {
    const ended = once(child, 'exit')
    child.stdin.end()
    expect(await ended).toEqual([0, null])
  }
}

function canMount(at: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', at], { stdio: 'ignore' })
    return true
  } catch {
    return false // not root, or a container that may not
  }
}

/** Leaves room for a few pages only. */
function fill(filler: string): void {
  writeFileSync(filler, Buffer.alloc(1_700_000))
}
