/** What a caller may show to a sandbox: one test per rule. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { checkMounts, serverMount, type MountRules } from './mounts.ts'

const isRoot = process.getuid?.() === 0
const SANDBOX_UID = isRoot ? 1000 : (process.getuid?.() ?? 1000)
const SANDBOX_GID = isRoot ? 1000 : (process.getgid?.() ?? 1000)
let root = ''
let rules: MountRules

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-mounts-')))
  for (const name of ['work', 'state', 'elsewhere']) mkdirSync(join(root, name))
  rules = {
    allowedRoots: [join(root, 'work'), join(root, 'state')],
    stateDir: join(root, 'state'),
    sandboxUid: SANDBOX_UID,
    sandboxGid: SANDBOX_GID,
  }
})

function directory(name: string): string {
  const path = join(root, 'work', name)
  mkdirSync(path, { recursive: true })
  if (isRoot) chownSync(path, SANDBOX_UID, SANDBOX_GID)
  return path
}

async function refusal(source: string, target = '/workspace', mode: 'ro' | 'rw' = 'ro', over: Partial<MountRules> = {}): Promise<string> {
  const attempt = checkMounts([{ source, target, mode }], { ...rules, ...over })
  await expect(attempt).rejects.toMatchObject({ code: 'mount_refused' })
  return attempt.then(
    () => '',
    (error: Error) => error.message,
  )
}

test('a directory and a file under an allowed root are fine', async () => {
  const source = directory('a')
  writeFileSync(join(source, 'file'), '')
  const mounts = await checkMounts(
    [
      { source, target: '/workspace', mode: 'rw' },
      { source: join(source, 'file'), target: '/data/file', mode: 'ro' },
    ],
    rules,
  )
  expect(mounts).toEqual([
    { source: join(source, 'file'), target: '/data/file', mode: 'ro' },
    { source, target: '/workspace', mode: 'rw' },
  ])
})

test('the mount is made of what the links lead to, also where a root is a link', async () => {
  const source = directory('real')
  symlinkSync(source, join(root, 'work', 'link'))
  symlinkSync(join(root, 'work'), join(root, 'root-link'))
  const [mount] = await checkMounts([{ source: join(root, 'root-link', 'link'), target: '/data', mode: 'ro' }], {
    ...rules,
    allowedRoots: [join(root, 'root-link')],
  })
  expect(mount?.source).toBe(source)
})

test('a relative path is refused', async () => {
  expect(await refusal('work/a')).toBe("'work/a' cannot be mounted: the path is not absolute")
})

test('a path with NUL in it is refused', async () => {
  expect(await refusal(`${directory('a')}\0`)).toContain('NUL')
})

test('what does not exist is refused', async () => {
  expect(await refusal(join(root, 'work', 'missing'))).toContain('it does not exist, or a link in it leads to where callers may not mount')
})

test('what lies outside the allowed roots is refused, also by a link or by ..', async () => {
  symlinkSync(join(root, 'elsewhere'), join(root, 'work', 'link'))
  expect(await refusal(join(root, 'elsewhere'))).toContain('it is not under an allowed root')
  expect(await refusal(join(root, 'work', 'link'))).toContain('a link in it leads to where callers may not mount')
  expect(await refusal(`${directory('a')}/../../elsewhere`)).toContain('is not under an allowed root')
})

test('a neighbour of a root whose name begins alike is outside', async () => {
  mkdirSync(join(root, 'workbench'))
  expect(await refusal(join(root, 'workbench'))).toContain('not under an allowed root')
})

test('with no allowed root nothing is allowed', async () => {
  expect(await refusal(directory('a'), '/data', 'ro', { allowedRoots: [] })).toContain('it is not under an allowed root')
})

test.each(['/etc', '/etc/ssl', '/proc', '/proc/self', '/sys', '/dev', '/run', '/usr/bin', '/usr'])(
  '%s is refused even where everything is allowed',
  async (path) => {
    expect(await refusal(path, '/data', 'ro', { allowedRoots: ['/'] })).toContain('cannot be mounted: it lies in')
  },
)

test('the answer does not depend on what the host has where callers may not mount', async () => {
  const answer = async (path: string, over: Partial<MountRules> = {}) => (await refusal(path, '/data', 'ro', over)).replace(path, '<path>')
  const state = join(root, 'state')
  mkdirSync(join(state, 'session'))
  symlinkSync('/etc', join(root, 'elsewhere', 'link'))
  for (const [one, other] of [
    ['/etc/shadow', '/etc/no-such-file'],
    [join(root, 'elsewhere', 'link'), join(root, 'elsewhere', 'nothing')],
    [join(state, 'session'), join(state, 'no-session')],
  ] as const) {
    for (const allowedRoots of [[], [join(root, 'work')], ['/']])
      expect(await answer(one, { allowedRoots })).toBe(await answer(other, { allowedRoots }))
  }
  expect(await answer('/proc/self/exe')).toBe(await answer('/no/such/path'))
  // Callers can make links below a root: they must not be a way to look elsewhere.
  for (const [name, target] of [
    ['there', '/etc/passwd'],
    ['not-there', '/etc/no-such-file'],
    ['session', join(state, 'session')],
    ['no-session', join(state, 'no-session')],
  ] as const)
    symlinkSync(target, join(root, 'work', name))
  const told = await Promise.all(['there', 'not-there', 'session', 'no-session', 'missing'].map((name) => answer(join(root, 'work', name))))
  expect(new Set(told).size).toBe(1)
})

test('where a link leads goes to the log', async () => {
  const logged: unknown[] = []
  symlinkSync('/etc', join(root, 'work', 'innocent'))
  await refusal(join(root, 'work', 'innocent'), '/data', 'ro', { log: { info: (...line) => void logged.push(line) } })
  expect(logged).toEqual([['mount-refused', { path: join(root, 'work', 'innocent'), leads_to: '/etc' }]])
})

test.each(['ro', 'rw'] as const)('the programs and the configuration of the server are refused, in and above (%s)', async (mode) => {
  const programs = directory('clone/guest/build')
  writeFileSync(join(programs, 'holdfast-launcher'), '')
  const file = join(directory('settings'), 'holdfast.yaml')
  writeFileSync(file, '')
  const own = [
    { path: programs, what: 'the launcher of the server' },
    { path: file, what: 'the configuration of the server' },
  ]
  symlinkSync(programs, join(root, 'work', 'link'))
  for (const path of [programs, join(programs, 'holdfast-launcher'), join(root, 'work', 'clone'), join(root, 'work')])
    expect(await refusal(path, '/data', mode, { ownPaths: own })).toMatch(/(lies in|contains) the launcher of the server/)
  for (const path of [file, join(root, 'work', 'settings')])
    expect(await refusal(path, '/data', mode, { ownPaths: own })).toMatch(/(lies in|contains) the configuration of the server/)
  expect(await refusal(join(root, 'work', 'link'), '/data', mode, { ownPaths: own })).toContain('a link in it leads')
})

test('the root of the host, and what contains a system path, are refused', async () => {
  expect(await refusal('/', '/data', 'ro', { allowedRoots: ['/'] })).toContain('is the whole host')
  expect(await refusal('/var', '/data', 'ro', { allowedRoots: ['/'] })).toMatch(/it contains \/var\//)
})

test('the state of the server is refused, and what lies in it or around it', async () => {
  mkdirSync(join(root, 'state', 'inner'))
  expect(await refusal(join(root, 'state'))).toContain('lies in the state of the server')
  expect(await refusal(join(root, 'state', 'inner'))).toContain('lies in the state of the server')
  expect(await refusal(root, '/data', 'ro', { allowedRoots: [root] })).toContain('contains the state of the server')
})

test('sockets and pipes are refused', async () => {
  const source = directory('a')
  execFileSync('mkfifo', [join(source, 'pipe')])
  const server = createServer().listen(join(source, 'sock'))
  await new Promise((resolve) => server.once('listening', resolve))
  expect(await refusal(join(source, 'pipe'))).toContain('neither a directory nor a regular file')
  expect(await refusal(join(source, 'sock'))).toContain('neither a directory nor a regular file')
  server.close()
})

test('a directory with the socket of an engine in it is refused', async () => {
  const source = directory('a')
  writeFileSync(join(source, 'docker.sock'), '')
  expect(await refusal(source)).toContain('docker.sock, the control socket of a container engine')
})

test.runIf(isRoot)('what the sandbox could not write is refused for writing, with the fix, and fine for reading', async () => {
  const source = directory('a')
  chownSync(source, 0, 0)
  expect(await refusal(source, '/data', 'rw')).toContain(`run \`chown 1000:1000 ${source}\``)
  await expect(checkMounts([{ source, target: '/data', mode: 'ro' }], rules)).resolves.toHaveLength(1)
  chmodSync(source, 0o777)
  await expect(checkMounts([{ source, target: '/data', mode: 'rw' }], rules)).resolves.toHaveLength(1)
  chownSync(source, 0, SANDBOX_GID)
  chmodSync(source, 0o775)
  await expect(checkMounts([{ source, target: '/data', mode: 'rw' }], rules)).resolves.toHaveLength(1)
  chmodSync(source, 0o755)
  expect(await refusal(source, '/data', 'rw')).toContain('may not write to it')
})

test.each([
  ['workspace', 'the path is not absolute'],
  ['/', 'it must be in one of /workspace'],
  ['/etc/x', 'it must be in one of /workspace'],
  ['/home/other', 'it must be in one of /workspace'],
  ['/workspaces', 'it must be in one of /workspace'],
  ['/workspace/', "write it as '/workspace'"],
  ['/workspace/../etc', "write it as '/etc'"],
  ['/workspace//a', "write it as '/workspace/a'"],
  ['/workspace/a\0', 'a control character'],
  ['/workspace/a\nb', 'a control character'],
  [`/workspace/${'a'.repeat(1100)}`, 'longer than 1024 bytes'],
])('the target %j is refused', async (target, why) => {
  expect(await refusal(directory('a'), target)).toContain(why)
})

test('two mounts at the same target are refused', async () => {
  const wish = { source: directory('a'), target: '/data', mode: 'ro' } as const
  await expect(checkMounts([wish, wish], rules)).rejects.toMatchObject({
    code: 'mount_refused',
    message: "two mounts have the same target '/data'",
  })
})

test('a mount inside another is refused, except below the workspace, where parents come first', async () => {
  const wish = (target: string) => ({ source: directory('a'), target, mode: 'ro' }) as const
  await expect(checkMounts([wish('/data/x'), wish('/data')], rules)).rejects.toMatchObject({
    message: expect.stringContaining("the mount at '/data/x' would hide a part of the one at '/data'"),
  })
  const mounts = await checkMounts(
    [wish('/workspace/.skills/x'), wish('/workspace/a'), wish('/workspace'), wish('/mnt/a-2'), wish('/mnt/a')],
    rules,
  )
  expect(mounts.map(({ target }) => target)).toEqual(['/mnt/a', '/mnt/a-2', '/workspace', '/workspace/.skills/x', '/workspace/a'])
})

test("the server's own mounts are settled, not checked", async () => {
  symlinkSync(join(root, 'state'), join(root, 'link'))
  expect(await serverMount(join(root, 'link'), '/workspace', 'rw')).toEqual({
    source: join(root, 'state'),
    target: '/workspace',
    mode: 'rw',
    isOwn: true,
  })
})
