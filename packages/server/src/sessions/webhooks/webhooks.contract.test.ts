/** Webhooks against a real receiver: order, signature, retry, restart, and where they may not go. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EventType } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSealing } from '../../home/sealing.ts'
import { migrate } from '../../store/migrate.ts'
import { scrubOnce } from '../../store/sqlite/scrub.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import { deleteEventsBefore } from '../../store/tables/events.ts'
import { dueWebhooks } from '../../store/tables/webhooks.ts'
import { SYSTEM } from '../caller.ts'
import { NOW, openLedger } from '../events/contract/ledger.ts'
import type { Ledger, LedgerSession } from '../events/contract/ledger.ts'
import { accept, isGenuine, openReceiver } from './contract/receiver.ts'
import type { Receiver } from './contract/receiver.ts'
import { startWebhookDispatcher } from './dispatcher.ts'
import { allowedAddresses } from './public-address.ts'
import { serveWebhook } from './serve-webhook.ts'
import { targetGuard } from './target-guard.ts'
import { sealOlderTargets } from './webhook-target.ts'
import { createWebhooks } from './webhooks.ts'

const sealing = createSealing(randomBytes(32))
const HOUR = 3_600_000
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

let store: Store
let ledger: Ledger
let tenantId: string
let session: LedgerSession
let now: number
const receivers: Receiver[] = []
const endings: (() => Promise<void>)[] = []

beforeEach(async () => {
  store = await openSqliteStore(':memory:')
  await migrate(store)
  ledger = openLedger(store)
  tenantId = await ledger.tenant()
  session = await ledger.session(tenantId)
  now = NOW
})
afterEach(async () => {
  for (const end of endings.splice(0)) await end()
  for (const opened of receivers.splice(0)) await opened.close()
  await store.close()
})

/** The loopback is allowed unless a test says otherwise. */
function needs(networks: readonly string[] = ['127.0.0.0/8', '::1/128']) {
  const guard = targetGuard(allowedAddresses(networks))
  return { store, sealing, guard, clock: () => now, random: () => 1, timeoutMs: 10_000 }
}

async function receiver(answer?: (response: ServerResponse, count: number) => void): Promise<Receiver> {
  const opened = await openReceiver(answer)
  receivers.push(opened)
  return opened
}

async function webhook(port: number, types: readonly EventType[] = []) {
  return await createWebhooks(needs()).create(tenantId, { url: `http://127.0.0.1:${port}/hook`, types }, SYSTEM)
}

/** Serves what is due until nothing is left at this moment. */
async function serve(options = needs()): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = false
    for (const row of await store.read((sql) => dueWebhooks(sql, now, '', 100)))
      if (await serveWebhook(options, row, new AbortController().signal)) isMore = true
  }
}

const seqs = ({ received }: Receiver) => received.map(({ event }) => event.seq)
const problem = async () => (await createWebhooks(needs()).list(tenantId))[0]?.lastProblem ?? ''
const happen = async (count: number) => {
  for (let n = 0; n < count; n++) await ledger.happen(session)
}

test('events after its creation arrive in order, each with a signature that a receiver can check', async () => {
  const target = await receiver()
  const { secret } = await webhook(target.port)
  await happen(60)
  await serve()
  expect(seqs(target)).toEqual(Array.from({ length: 60 }, (_, index) => index + 2))
  for (const received of target.received) expect(isGenuine(received, secret, now / 1000)).toBe(true)
  const [first] = target.received
  if (first === undefined) throw new Error('nothing arrived')
  expect(first).toMatchObject({ path: '/hook', headers: { 'content-type': 'application/json', 'webhook-id': first.event.id } })
  expect(isGenuine({ ...first, body: `${first.body} ` }, secret, now / 1000)).toBe(false)
  expect(isGenuine(first, `whsec_${randomBytes(32).toString('base64')}`, now / 1000)).toBe(false)
})

test('after an error the same event is tried again later, and nothing overtakes it', async () => {
  const target = await receiver((response, count) => response.writeHead(count <= 2 ? 500 : 200).end())
  await webhook(target.port)
  await happen(3)
  await serve()
  await serve()
  expect(seqs(target)).toEqual([2])
  expect(await problem()).toContain('answered with status 500')
  now += 1000
  await serve()
  expect(seqs(target)).toEqual([2, 2])
  now += 1999
  await serve()
  expect(seqs(target)).toEqual([2, 2])
  now += 1
  await serve()
  expect(seqs(target)).toEqual([2, 2, 2, 3, 4])
  const [first, again] = target.received
  expect(again?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  expect(again?.headers['webhook-timestamp']).not.toBe(first?.headers['webhook-timestamp'])
})

test('an event that is refused for a day is given up, which is recorded, and the next ones go on', async () => {
  let isBroken = true
  const target = await receiver((response) => response.writeHead(isBroken ? 503 : 200).end())
  await webhook(target.port)
  await happen(1)
  await ledger.happen(session, { at: NOW + 24 * HOUR })
  for (let hour = 0; hour < 24; hour++) {
    await serve()
    now += HOUR
  }
  expect(new Set(seqs(target))).toEqual(new Set([2]))
  await serve()
  expect(await problem()).toMatch(/attempt 1 of evt_\w+ failed/)
  expect(seqs(target).at(-1)).toBe(3)
  isBroken = false
  now += HOUR
  await serve()
  expect(seqs(target).at(-1)).toBe(3)
  expect(seqs(target).filter((seq) => seq === 3).length).toBe(2)
})

test('a crash after the receiver took an event repeats it, and skips none', async () => {
  const target = await receiver()
  await webhook(target.port)
  await happen(2)
  let writes = 0
  const crashing: Store = {
    ...store,
    write: async (work, durability) => {
      writes += 1
      if (writes === 2) throw new Error('killed')
      return await store.write(work, durability)
    },
  }
  await expect(serve({ ...needs(), store: crashing })).rejects.toThrow('killed')
  expect(seqs(target)).toEqual([2])
  await serve() // still claimed by the one that died
  expect(seqs(target)).toEqual([2])
  now += 60_000
  await serve()
  expect(seqs(target)).toEqual([2, 2, 3])
})

test('a dispatcher delivers as events come; another one after a restart goes on where it stopped', async () => {
  const target = await receiver()
  await webhook(target.port)
  const start = () => {
    const dispatcher = startWebhookDispatcher({ ...needs(), listeners: ledger.listeners, log: quiet, pollMs: 20 })
    endings.push(() => dispatcher.stop())
    return dispatcher
  }
  const first = start()
  await happen(2)
  await target.has(2)
  await first.stop()
  await first.stop()
  await happen(2)
  start()
  await target.has(4)
  await happen(1)
  await target.has(5)
  // One that was cut off by the stop may have come twice.
  expect([...new Set(seqs(target))]).toEqual([2, 3, 4, 5, 6])
})

test('two dispatchers on one database do not both deliver an event', async () => {
  const target = await receiver()
  await webhook(target.port)
  for (let n = 0; n < 2; n++) {
    const dispatcher = startWebhookDispatcher({ ...needs(), listeners: ledger.listeners, log: quiet, pollMs: 5 })
    endings.push(() => dispatcher.stop())
  }
  for (let n = 1; n <= 10; n++) {
    await happen(1)
    await target.has(n)
  }
  for (const end of endings.splice(0)) await end()
  expect(seqs(target)).toEqual(Array.from({ length: 10 }, (_, index) => index + 2))
})

test('a dispatcher that is stopped during an attempt counts no failure, and the event is sent again', async () => {
  let isSilent = true
  const target = await receiver((response) => (isSilent ? undefined : accept(response)))
  await webhook(target.port)
  const dispatcher = startWebhookDispatcher({ ...needs(), listeners: ledger.listeners, log: quiet, pollMs: 20 })
  await happen(1)
  await target.has(1)
  await dispatcher.stop()
  expect(await createWebhooks(needs()).list(tenantId)).toMatchObject([{ attempts: 0, lastProblem: null }])
  isSilent = false
  await serve()
  expect(seqs(target)).toEqual([2, 2])
})

test('only the types that were asked for arrive, and only those of the own tenant', async () => {
  const target = await receiver()
  await webhook(target.port, ['session.released'])
  const stranger = await ledger.session(await ledger.tenant())
  await happen(3)
  await ledger.close(stranger)
  await serve()
  expect(target.received).toEqual([])
  await ledger.close(session)
  await serve()
  expect(target.received.map(({ event }) => [event.type, event.tenant_id])).toEqual([['session.released', tenantId]])
})

test('a paused webhook rests and then catches up; a removed one is gone', async () => {
  const target = await receiver()
  const hooks = createWebhooks(needs())
  const { webhook: made } = await webhook(target.port)
  expect(await hooks.pause(tenantId, made.id, SYSTEM)).toMatchObject({ state: 'paused' })
  await happen(2)
  await serve()
  expect(target.received).toEqual([])
  await hooks.resume(tenantId, made.id, SYSTEM)
  await serve()
  expect(seqs(target)).toEqual([2, 3])
  await hooks.remove(tenantId, made.id, SYSTEM)
  await happen(1)
  await serve()
  expect(seqs(target)).toEqual([2, 3])
  expect(await hooks.list(tenantId)).toEqual([])
})

test('a webhook goes on without repeating itself when its last event is dropped, or all are', async () => {
  const target = await receiver()
  const other = await ledger.session(tenantId)
  await webhook(target.port)
  await ledger.happen(other)
  await happen(2)
  await serve()
  await store.write((transaction) => transaction.run('DELETE FROM events WHERE session_id = ?', session.id))
  await serve()
  expect(seqs(target)).toEqual([2, 2, 3])
  await store.write((transaction) => deleteEventsBefore(transaction, NOW + 1, 100))
  await serve()
  await happen(1)
  await serve()
  expect(seqs(target)).toEqual([2, 2, 3, 4])
})

test('the token in an address is nowhere in the home, also where an older version stored it in clear', async () => {
  const target = await receiver()
  const home = mkdtempSync(join(tmpdir(), 'holdfast-webhook-'))
  const file = join(home, 'holdfast.db')
  const found = () => readdirSync(home).filter((name) => readFileSync(join(home, name)).includes('t0ken'))
  await store.close()
  store = await openSqliteStore(file)
  await migrate(store)
  ledger = openLedger(store)
  tenantId = await ledger.tenant()
  session = await ledger.session(tenantId)
  const url = `http://127.0.0.1:${target.port}/hook?token=t0ken`
  const { webhook: made } = await createWebhooks(needs()).create(tenantId, { url, types: [] }, SYSTEM)
  expect(made.url).toBe(`http://127.0.0.1:${target.port}`)
  expect(found()).toEqual([])

  await store.write((transaction) => transaction.run('UPDATE webhooks SET url = ?, target = NULL', url))
  // Each update leaves a copy of the row in the file.
  for (let attempts = 0; attempts < 20; attempts++)
    await store.write((transaction) =>
      transaction.run('UPDATE webhooks SET attempts = ?, last_problem = ?', attempts, 'x'.repeat(attempts * 50)),
    )
  expect(found()).not.toEqual([])
  await sealOlderTargets(store, sealing)
  await scrubOnce(file)
  expect(found()).toEqual([])

  await happen(1)
  await serve()
  expect(target.received.map(({ path }) => path)).toEqual(['/hook?token=t0ken'])
  expect(await createWebhooks(needs()).list(tenantId)).toMatchObject([{ url: made.url }])
  rmSync(home, { recursive: true })
})

test('a private address is refused: as a literal at once, as a name when it is called', async () => {
  const target = await receiver()
  const closed = needs([])
  const hooks = createWebhooks(closed)
  const create = async (url: string) => await hooks.create(tenantId, { url, types: [] }, SYSTEM)
  const literals = ['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', '169.254.169.254', '10.0.0.1']
  for (const host of [...literals, 'localhost', 'LOCALHOST', 'app.localhost', 'localhost.'])
    await expect(create(`http://${host}:${target.port}/`)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('webhooks.allowed_networks'),
      details: { problems: [{ field: 'url' }] },
    })
  // Made while the loopback was allowed.
  await createWebhooks(needs()).create(tenantId, { url: `http://localhost:${target.port}/`, types: [] }, SYSTEM)
  await happen(1)
  await serve(closed)
  expect(await problem()).toContain('must not lead to localhost, which is not a public address')
  // Any other name is judged by what it resolves to, inside the connection.
  const judged = new Promise((resolve) => {
    closed.guard.lookup('localhost', {}, (error) => resolve(error))
  })
  expect(await judged).toMatchObject({ message: 'localhost does not lead to a public address' })
  expect(target.connections()).toBe(0)
  now += HOUR
  await serve()
  expect(seqs(target)).toEqual([2])
})

test('a literal address is judged again at each call, so that a stricter configuration takes effect', async () => {
  const target = await receiver()
  await webhook(target.port)
  await happen(1)
  await serve(needs([]))
  expect(await problem()).toContain('which is not a public address')
  expect(target.connections()).toBe(0)
})

test('a redirect is a refusal and is not followed', async () => {
  const inside = await receiver()
  const target = await receiver((response) => response.writeHead(307, { location: `http://127.0.0.1:${inside.port}/` }).end())
  await webhook(target.port)
  await happen(1)
  await serve()
  expect(await problem()).toContain('status 307')
  expect(inside.connections()).toBe(0)
})

test('an answer without an end is not read, and silence has its time', async () => {
  const endless = await receiver((response) => {
    response.writeHead(200)
    const more = () => {
      while (response.write(Buffer.alloc(65_536)));
    }
    response.on('drain', more)
    more()
  })
  await webhook(endless.port)
  await happen(1)
  await serve()
  expect(await problem()).toBe('')
  const silent = await receiver(() => {})
  await webhook(silent.port)
  await happen(1)
  await serve({ ...needs(), timeoutMs: 50 })
  const problems = (await createWebhooks(needs()).list(tenantId)).map(({ lastProblem }) => lastProblem)
  expect(problems).toContainEqual(expect.stringContaining('no answer within 50 ms'))
})

test('what is no address for a webhook is refused with the reason', async () => {
  const create = async (url: string) => await createWebhooks(needs()).create(tenantId, { url, types: [] }, SYSTEM)
  await expect(create('ftp://example.com/')).rejects.toThrow('url: must begin with https:// or http://, not ftp:')
  await expect(create('https://ann:secret@example.com/')).rejects.toThrow('url: must not contain a user name or password')
  await expect(create('example.com')).rejects.toThrow('url: must be an address')
  await expect(create(`https://example.com/${'a'.repeat(2048)}`)).rejects.toThrow('url: must be an address of at most 2048')
})

test("another tenant's webhook does not exist, and a tenant has at most 20", async () => {
  const { webhook: made } = await webhook(1)
  const other = await ledger.tenant()
  const hooks = createWebhooks(needs())
  expect(await hooks.list(other)).toEqual([])
  await expect(hooks.pause(other, made.id, SYSTEM)).rejects.toMatchObject({ code: 'not_found' })
  await expect(hooks.remove(other, made.id, SYSTEM)).rejects.toMatchObject({ code: 'not_found' })
  const rest = await Promise.allSettled(Array.from({ length: 25 }, () => webhook(1)))
  expect(rest.filter(({ status }) => status === 'fulfilled').length).toBe(19)
})

test('the secret lies sealed in the database, and every change is in the audit without it', async () => {
  const { webhook: made, secret } = await webhook(1)
  const hooks = createWebhooks(needs())
  await hooks.pause(tenantId, made.id, SYSTEM)
  await hooks.remove(tenantId, (await webhook(1)).webhook.id, SYSTEM)
  const rows = await store.read((sql) => sql.all('SELECT * FROM webhooks'))
  const raw = Buffer.from(secret.replace('whsec_', ''), 'base64')
  for (const row of rows) expect(Buffer.from(row.secret as Uint8Array).includes(raw)).toBe(false)
  const audit = await store.read((sql) => sql.all('SELECT body FROM audit WHERE chain = ? ORDER BY seq', tenantId))
  const bodies = audit.map(({ body }) => String(body))
  expect(bodies.map((body) => (JSON.parse(body) as { action: string }).action).slice(1)).toEqual([
    ...['webhook.create', 'webhook.pause', 'webhook.create', 'webhook.remove'],
  ])
  expect(bodies.join('')).not.toContain(secret.slice(6))
})
