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
  expect(await refusal(join(root, 'work', 'missing'))).toContain('it does not exist')
})

test('what lies outside the allowed roots is refused, also by a link or by ..', async () => {
  symlinkSync(join(root, 'elsewhere'), join(root, 'work', 'link'))
  expect(await refusal(join(root, 'elsewhere'))).toContain('it is not under an allowed root')
  expect(await refusal(join(root, 'work', 'link'))).toContain(`it leads to ${join(root, 'elsewhere')}, which is not under an allowed root`)
  expect(await refusal(`${directory('a')}/../../elsewhere`)).toContain('is not under an allowed root')
})

test('a neighbour of a root whose name begins alike is outside', async () => {
  mkdirSync(join(root, 'workbench'))
  expect(await refusal(join(root, 'workbench'))).toContain('not under an allowed root')
})

test('with no allowed root nothing is allowed', async () => {
  expect(await refusal(directory('a'), '/data', 'ro', { allowedRoots: [] })).toContain('there is none')
})

test.each(['/etc', '/etc/ssl', '/proc', '/proc/self', '/sys', '/dev', '/run', '/usr/bin', '/usr'])(
  '%s is refused even where everything is allowed',
  async (path) => {
    expect(await refusal(path, '/data', 'ro', { allowedRoots: ['/'] })).toMatch(/cannot be mounted: it (lies in|leads to)/)
  },
)

test('a link to a system path is refused by where it leads', async () => {
  symlinkSync('/etc', join(root, 'work', 'innocent'))
  expect(await refusal(join(root, 'work', 'innocent'))).toContain('it leads to /etc, which lies in /etc')
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
