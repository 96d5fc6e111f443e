/** Readiness: what is in the way is named, and nothing more is told of it. */
import { HoldfastError } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import { readinessCheck } from './server-readiness.ts'

let store: Store
let now: number
let asked: number
let isStopping: boolean
let homeProblem: HoldfastError | null
let answer: (signal: AbortSignal) => Promise<unknown>
let check: () => Promise<void>

beforeEach(async () => {
  store = await openSqliteStore(':memory:')
  ;[now, asked, isStopping] = [0, 0, false]
  answer = async () => []
  homeProblem = null
  check = readinessCheck({
    ...{ store, clock: () => now, isStopping: () => isStopping, storeAnswerMs: 50, backendAnswerMs: 50 },
    checkHome: async () => {
      if (homeProblem !== null) throw homeProblem
    },
    askBackend(signal) {
      asked += 1
      return answer(signal)
    },
  })
})
afterEach(() => store.close())

const refusal = async () => {
  try {
    await check()
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
    return { code: error.code, message: error.message, details: error.details }
  }
  return null
}

test('a server whose parts answer is ready', async () => expect(await refusal()).toBeNull())

test('one that stops is not', async () => {
  isStopping = true
  expect(await refusal()).toMatchObject({ code: 'server_stopping', details: { part: 'server' } })
})

test('one without its database is not, and does not say where that is', async () => {
  await store.close()
  const found = await refusal()
  expect(found).toEqual({ code: 'store_unavailable', message: 'the database does not answer', details: { part: 'store' } })
})

test('a database that hangs is not waited for, and not asked again meanwhile', async () => {
  const released = Promise.withResolvers<void>()
  let reads = 0
  const hanging: Store = {
    ...store,
    async read() {
      reads += 1
      await released.promise
      throw new Error('too late')
    },
  }
  const checkHome = async () => undefined
  check = readinessCheck({
    store: hanging,
    checkHome,
    clock: () => now,
    isStopping: () => false,
    storeAnswerMs: 20,
    askBackend: async () => [],
  })
  expect(await Promise.all([refusal(), refusal()])).toMatchObject([{ details: { part: 'store' } }, { details: { part: 'store' } }])
  expect(reads).toBe(1)
  released.resolve()
})

test('one whose backend fails is not, and tells nothing of its reasons', async () => {
  answer = () => Promise.reject(new HoldfastError('backend_unavailable', 'no socket at /run/secret.sock', { host: 'secret' }))
  expect(await refusal()).toEqual({
    ...{ code: 'backend_unavailable', message: 'the backend of the sandboxes does not answer', details: { part: 'backend' } },
  })
  answer = async () => []
  expect(await refusal()).toBeNull()
})

test('a backend that hangs is told to stop', async () => {
  const stopped = Promise.withResolvers<void>()
  answer = (signal) => {
    signal.addEventListener('abort', () => stopped.resolve())
    return new Promise(() => {})
  }
  expect(await refusal()).toMatchObject({ details: { part: 'backend' } })
  await stopped.promise
})

test('a backend that answered lately is not asked again, whatever the clock does', async () => {
  await Promise.all([check(), check(), check()])
  expect(asked).toBe(1)
  now = 9_999
  await check()
  expect(asked).toBe(1)
  now = 10_000
  await check()
  expect(asked).toBe(2)
  now = -60_000
  await check()
  expect(asked).toBe(3)
})

test('one whose home lacks something is not, and says which part', async () => {
  homeProblem = new HoldfastError('store_unavailable', 'no space is left on the disk of the home', { part: 'disk' })
  expect(await refusal()).toMatchObject({ message: 'no space is left on the disk of the home', details: { part: 'disk' } })
})
