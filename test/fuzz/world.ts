/**
 * What exists while requests are tried: something of everything that can be named.
 *
 * Requests end and change what they name, so it is looked after: what was ended is made again, and what they made beyond it is ended, so
 * that there are never more than a few sandboxes.
 */
import type { Answer } from './answer.ts'
import type { Attempt } from './attempt.ts'
import { itemsOf, Refused } from './clients.ts'
import type { Ask, Clients } from './clients.ts'
import { isObject } from './json-schema.ts'

/** Sessions beyond the world's own before they are ended. */
const FEW = 3
/** What changes nothing that has a name here. */
const UNTOUCHING = /\/(files.*|executions|verify)$/
const FILES = ['a.txt', 'folder/b.txt', '/tmp/c']
const SKILL = 'sample'
const LIVE = 'pending,idle,active,suspended'

export interface World {
  /** The text with each reference as what it now means; `path` says what a version is of. */
  resolve(text: string, path: string): string
  /** What is to be known of an answer for later requests. */
  notice(attempt: Attempt, answer: Answer): void
  /** Makes good what was ended. */
  tend(): Promise<void>
  /** Somebody else has done something. */
  touch(): void
  /** Ends every session of every tenant. */
  endEverything(): Promise<void>
}

export function createWorld({ as, tenants }: Clients): World {
  /** What each reference means now. */
  const known = new Map([['page_token', 'none']])
  const versions = new Map<string, string>()
  const admin = as('admin')
  let isTouched = true
  let count = 0
  const next = (word: string) => `${word}-${(count += 1)}`

  /** Makes it when it is not there, or not as it should be. */
  async function keep(name: string, isGood: (id: string) => Promise<boolean>, make: () => Promise<unknown>): Promise<string> {
    const id = known.get(name)
    if (id !== undefined && (await isGood(id).catch(refusedIsNo))) return id
    const made = String(await make())
    known.set(name, made)
    return made
  }

  async function newSession(ask: Ask): Promise<unknown> {
    return (await ask('POST', '/v1/sessions', { key: next('world'), wait_ms: 30_000 }))['id']
  }

  const isOpen = (ask: Ask) => async (id: string) => {
    const { state, held } = await ask('GET', `/v1/sessions/${id}`)
    return (state === 'idle' || state === 'active') && held === null
  }

  async function keepSessions(): Promise<void> {
    const [owner, stranger] = [as('member'), as('stranger')]
    await keep('foreign_session', isOpen(stranger), () => newSession(stranger))
    await keep('ended_session', always, async () => {
      const id = await newSession(owner)
      await owner('POST', `/v1/sessions/${String(id)}/cancel`)
      return id
    })
    await keep('idle_session', isOpen(owner), () => newSession(owner))
    const session = `/v1/sessions/${await keep('session', isOpen(owner), () => newSession(owner))}`
    const isRunning = async (path: string) => (await owner('GET', `${session}/${path}`))['status'] === 'running'
    const start = async (wish: object) => (await owner('POST', `${session}/executions`, wish))['execution_id']
    await keep(
      'execution',
      (id) => isRunning(`executions/${id}`),
      () => start({ command: 'cat', interactive: true }),
    )
    await keep(
      'ended_execution',
      async (id) => !(await isRunning(`executions/${id}`)),
      () => start({ command: 'echo hello' }),
    )
    await keep(
      'process',
      () => isRunning('processes/sample'),
      async () => {
        await owner('POST', `${session}/processes`, { name: 'sample', command: 'cat', interactive: true })
        return 'sample'
      },
    )
    await keep(
      'terminal',
      (id) => isRunning(`executions/${id}`),
      () => start({ command: 'cat', terminal: { cols: 80, rows: 24 } }),
    )
    await keep(
      'file',
      async (of) => of === session,
      async () => {
        // Something else may lie there by now; requests meet that too.
        await owner('POST', `${session}/files/directories`, { path: 'folder', parents: true }).catch(refusedIsNo)
        for (const path of FILES) await owner('PUT', `${session}/files?path=${path}`, { a: 'file' }).catch(refusedIsNo)
        return session
      },
    )
  }

  async function keepTheRest(): Promise<void> {
    const isActive = async (id: string) => (await admin('GET', `/v1/tenants/${id}`))['state'] === 'active'
    await keep('tenant', isActive, async () => (await admin('POST', '/v1/tenants', { name: next('spare') }))['id'])
    const isListed = async (id: string) => itemsOf(await admin('GET', '/v1/webhooks')).some((item) => item['id'] === id)
    await keep('webhook', isListed, async () => (await admin('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/' }))['id'])
    await keep('skill', isSkill, async () => {
      // A request may have made it.
      await admin('POST', '/v1/skills', { name: SKILL, instructions: 'Say hello.' }).catch(refusedIsNo)
      for (const path of FILES.slice(0, 2)) await admin('PUT', `/v1/skills/${SKILL}/files?path=${path}`, { a: 'file' }).catch(refusedIsNo)
      return SKILL
    })
    await keep('key', always, async () => (await admin('POST', '/v1/keys', { name: 'spare', subject: 'spare' }))['id'])
  }

  const isSkill = async (name: string) => itemsOf(await admin('GET', `/v1/skills/${name}/files/list`)).some(({ path }) => path === FILES[0])

  /** Also those of archives, so that the same can come again. */
  async function removeSkills(): Promise<void> {
    const names = itemsOf(await admin('GET', '/v1/skills')).map(({ name }) => String(name))
    for (const name of names.filter((each) => each !== SKILL))
      await admin('DELETE', `/v1/skills/${encodeURIComponent(name)}`).catch(refusedIsNo)
  }

  async function endWebhooks(): Promise<void> {
    const ids = itemsOf(await admin('GET', '/v1/webhooks')).map(({ id }) => String(id))
    for (const id of ids.filter((each) => each !== known.get('webhook'))) await admin('DELETE', `/v1/webhooks/${id}`)
  }

  /** A few may stay, for requests that meet what others made. */
  async function endSurplus(tenant: string | undefined, few: number): Promise<void> {
    const live = itemsOf(await admin('GET', `/v1/sessions?page_size=200&state=${LIVE}`, undefined, tenant)).map(({ id }) => String(id))
    const surplus = live.filter((id) => ![...known.values()].includes(id))
    if (surplus.length <= few) return
    for (const id of surplus) await admin('POST', `/v1/sessions/${id}/cancel`, undefined, tenant).catch(refusedIsNo)
  }

  async function readFacts(): Promise<void> {
    for (const name of ['session', 'tenant']) {
      const id = known.get(name) ?? ''
      const { version, sandbox_id: sandbox } = await admin('GET', `/v1/${name}s/${id}`)
      versions.set(id, String(version))
      if (typeof sandbox === 'string') known.set('sandbox', sandbox)
    }
  }

  return {
    resolve: (text, path) =>
      text.replaceAll(/@@(\w+)@@/g, (_all, name: string) => {
        if (name === 'fresh') return next('fresh')
        if (name === 'version') return versions.get(/^\/v1\/\w+\/(\w+)/.exec(path)?.[1] ?? '') ?? '1'
        return known.get(name) ?? 'none'
      }),
    notice({ method, operation }, { status, bytes, headers }) {
      if (status >= 300) return
      if (method !== 'GET' && !UNTOUCHING.test(operation.path)) isTouched = true
      if (operation.name === 'DELETE /v1/keys/{id}') known.delete('key')
      if (/^(DELETE|POST) .*\/files/.test(operation.name)) known.delete('file')
      if (headers['content-type'] !== 'application/json') return
      const body: unknown = bytes.length === 0 ? null : JSON.parse(bytes.toString())
      if (!isObject(body)) return
      if (typeof body['next_page_token'] === 'string') known.set('page_token', body['next_page_token'])
      const last = itemsOf(body).at(-1)
      if (operation.path.endsWith('/events') && typeof last?.['id'] === 'string') known.set('event', last['id'])
    },
    async tend() {
      if (!isTouched && known.has('file')) return
      isTouched = false
      for (const tenant of [...tenants, known.get('tenant')]) await endSurplus(tenant, FEW)
      await endWebhooks()
      await removeSkills()
      await keepSessions()
      await keepTheRest()
      await readFacts()
    },
    touch: () => void (isTouched = true),
    async endEverything() {
      known.clear()
      await endWebhooks()
      for (let token = ''; ;) {
        const page = await admin('GET', `/v1/tenants?page_size=200${token === '' ? '' : `&page_token=${token}`}`)
        for (const { id } of itemsOf(page)) await endSurplus(String(id), 0)
        if (typeof page['next_page_token'] !== 'string') return
        token = page['next_page_token']
      }
    },
  }
}

const always = async () => true

function refusedIsNo(error: unknown): false {
  if (error instanceof Refused) return false
  throw error
}
