/** A server that is not root gives each session a subordinate id of its account, and can do with its files all that it could before. */
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ExecResult } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { ACCOUNT, spawnAsAccount, SUBORDINATE_IDS } from '../../../../test/servers/plain-account.ts'
import { hostUsersOf } from '../sandboxes/host-users.ts'

const BUILT = fileURLToPath(new URL('../../../../guest/build/', import.meta.url))
const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))

interface StartOptions {
  readonly hasSubordinateIds?: boolean
  readonly settings?: Readonly<Record<string, string>>
}

const found = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')
const reason = found?.skipReason ?? (process.getuid?.() === 0 ? null : 'only root can make an account for the test')

describe.skipIf(reason !== null)('sessions of a server that is not root', () => {
  let directory: string
  let home: string
  let server: Awaited<ReturnType<typeof start>>

  /** As many as are wanted, one after the other: each has the same home. */
  async function start({ hasSubordinateIds = true, settings = {} }: StartOptions = {}) {
    const child = spawnAsAccount([process.execPath, MAIN], {
      ...{ directory, hasSubordinateIds },
      environment: {
        ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: 'bubblewrap', HOLDFAST_LOG_FORMAT: 'json' },
        ...{ HOLDFAST_GUEST_PATH: join(directory, 'holdfast-guest'), HOLDFAST_GUEST_LAUNCHER: join(directory, 'holdfast-launcher') },
        // An account has no cgroups here.
        ...{ HOLDFAST_LIMITS_CPUS: 'none', HOLDFAST_LIMITS_MEMORY: 'none', HOLDFAST_LIMITS_PIDS: 'none' },
        ...settings,
      },
    })
    const ended = once(child, 'exit')
    const logged: string[] = []
    const url = Promise.withResolvers<string>()
    createInterface(child.stderr).on('line', (line) => {
      logged.push(line)
      const { event, url: at } = JSON.parse(line) as { readonly event: string; readonly url?: string }
      if (event === 'server-started') url.resolve(at ?? '')
    })
    void ended.then(() => url.reject(new Error(logged.join('\n'))))
    const base = await url.promise
    const key = readFileSync(join(home, 'admin.key'), 'utf8').trim()
    const ask = async (path: string, body: object | null = null, method = 'POST'): Promise<unknown> => {
      const response = await fetch(`${base}${path}`, {
        ...{ method, body: body === null ? null : JSON.stringify(body) },
        headers: { authorization: `Bearer ${key}` },
      })
      return response.json()
    }
    const sh = async (session: string, command: string) => {
      const answer = await ask('/v1/exec', { session, command, timeout_ms: 60_000 })
      const result = ExecResult.safeParse(answer)
      if (!result.success) throw new Error([JSON.stringify(answer), ...logged].join('\n'))
      return result.data
    }
    return {
      ...{ ask, sh, logged },
      async stop(signal: 'SIGTERM' | 'SIGKILL') {
        child.kill(signal)
        await ended
      },
    }
  }
  const restart = async (options: StartOptions = {}) => {
    await server.stop('SIGTERM')
    server = await start(options)
  }

  beforeEach(() => {
    directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-account-')))
    chmodSync(directory, 0o755)
    for (const name of ['holdfast-guest', 'holdfast-launcher']) copyFileSync(join(BUILT, name), join(directory, name))
    home = join(directory, 'home')
    mkdirSync(home, { mode: 0o700 })
    chownSync(home, ACCOUNT.uid, ACCOUNT.uid)
  })
  /** Ends every session, and its sandbox with it. */
  afterEach(async () => {
    for (const id of readdirSync(join(home, 'workspaces'))) await server.ask(`/v1/sessions/${id}/cancel`)
    await eventually(() => readdirSync(join(home, 'sandboxes'))).toEqual([])
    await server.stop('SIGTERM')
    rmSync(directory, { recursive: true, force: true })
  })

  const filesOf = (id: string, ...path: readonly string[]) => join(home, 'workspaces', id, 'files', ...path)
  const ownerOf = (path: string) => lstatSync(path).uid
  const ownUser = (id: string) => hostUsersOf(SUBORDINATE_IDS, id).commands

  test('each is a user of its own, its files belong to it, and they are measured and removed with it', async () => {
    server = await start({ settings: { HOLDFAST_LIMITS_WORKSPACE: '20m' } })
    expect(server.logged.join('\n')).not.toContain('host-user-is-the-servers')
    // Deeper than most walks go.
    const deep = 'for i in $(seq 300); do mkdir d && cd d; done; touch end'
    const [first, second] = [await server.sh('a', `id -u; mkdir -m 0 closed; (${deep})`), await server.sh('b', 'id -u; touch note')]
    for (const { stdout, stderr, session } of [first, second]) {
      expect({ stdout, stderr }).toEqual({ stdout: '1000\n', stderr: '' })
      expect(ownerOf(filesOf(session.id))).toBe(ownUser(session.id))
    }
    expect(ownerOf(filesOf(second.session.id, 'note'))).toBe(ownUser(second.session.id))
    expect(await server.sh('b', 'head -c 30000000 /dev/zero > big; sleep 60')).toMatchObject({ status: 'workspace_full' })
    const removed = await server.sh('c', 'exec 3> big; rm big; head -c 30000000 /dev/zero >&3; sleep 15')
    expect(removed).toMatchObject({ status: 'workspace_full' })
    for (const { session } of [first, second, removed]) await server.ask(`/v1/sessions/${session.id}/cancel`)
    await eventually(() => readdirSync(join(home, 'workspaces'))).toEqual([])
  })

  test('a workspace from before is its own once its next sandbox is made, and the server’s again when there are to be no users', async () => {
    server = await start({ hasSubordinateIds: false })
    expect(server.logged.join('\n')).toMatch(/"host-user-is-the-servers".*usermod --add-subuids/)
    const { session } = await server.sh('a', 'mkdir -m 700 deep; echo kept > deep/note; ln -s /etc/passwd link')
    const paths = ['', 'deep', 'deep/note', 'link'].map((path) => filesOf(session.id, path))
    expect(paths.map(ownerOf)).toEqual(paths.map(() => ACCOUNT.uid))
    const next = async (options: StartOptions) => {
      await server.ask(`/v1/sessions/${session.id}/suspend`)
      await restart(options)
      expect(await server.sh('a', 'cat deep/note; touch deep/note link')).toMatchObject({
        stdout: 'kept\n',
        session: { workspace: 'intact' },
      })
      return paths.map(ownerOf)
    }
    expect(await next({})).toEqual(paths.map(() => ownUser(session.id)))
    // As a server leaves it that was killed while it gave the files away.
    chownSync(filesOf(session.id, 'deep', 'note'), ACCOUNT.uid, ACCOUNT.uid)
    mkdirSync(join(home, 'workspaces', session.id, 'half-given'))
    expect(await next({})).toEqual(paths.map(() => ownUser(session.id)))
    expect(await next({ settings: { HOLDFAST_SANDBOX_UIDS: 'none' } })).toEqual(paths.map(() => ACCOUNT.uid))
    expect(ownerOf('/etc/passwd')).toBe(0)
  })

  test('what a killed server left goes on, and without the ids that own its files the session says which are missing', async () => {
    server = await start()
    const { session } = await server.sh('a', 'echo kept > note')
    await server.stop('SIGKILL')
    server = await start()
    expect(await server.sh('a', 'cat note')).toMatchObject({ stdout: 'kept\n', session: { incarnation: 1 } })
    await server.ask(`/v1/sessions/${session.id}/suspend`)
    await restart({ hasSubordinateIds: false })
    expect(await server.ask('/v1/exec', { session: 'a', command: 'cat note' })).toMatchObject({
      title: expect.stringContaining(`belong to uid ${ownUser(session.id)}`) as string,
    })
    await restart()
    expect(await server.sh('a', 'cat note')).toMatchObject({ stdout: 'kept\n', session: { workspace: 'intact' } })
  })

  test('its copies of skills belong to it, change with their packages, and go with it', async () => {
    server = await start()
    await server.ask('/v1/skills', { name: 'demo', description: 'd', instructions: 'first' })
    const { session } = await server.sh('a', 'true')
    const activate = () => server.ask('/v1/tools/activate', { session_id: session.id, input: { skill_name: 'demo' } })
    expect(await activate()).toMatchObject({ ok: true })
    const shown = join(home, 'skills', 'views', session.id, 'shown', 'demo')
    expect([ownerOf(shown), ownerOf(join(shown, 'SKILL.md'))]).toEqual([ownUser(session.id), ownUser(session.id)])
    expect(await server.sh('a', 'cd .skills/demo && mkdir -m 0 closed && mkdir -p made/by && touch made/by/me')).toMatchObject({
      exit_code: 0,
    })
    await server.ask('/v1/skills/demo', { instructions: 'second' }, 'PATCH')
    expect(await activate()).toMatchObject({ ok: true })
    expect(await server.sh('a', 'cat .skills/demo/SKILL.md; ls .skills/demo; touch .skills/demo/more')).toMatchObject({
      ...{ exit_code: 0, stderr: '', stdout: expect.stringMatching(/second\s*SKILL\.md\n$/) as string },
    })
    expect(readdirSync(join(home, 'skills', 'views', session.id, 'making'))).toEqual([])
    await server.ask(`/v1/sessions/${session.id}/cancel`)
    await eventually(() => existsSync(join(home, 'skills', 'views', session.id))).toBe(false)
  })
})
