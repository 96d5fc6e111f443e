/** Directories as tar archives, over REST and on real bubblewrap: there and back, whole or not at all. */
import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { because } from '../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { bubblewrapUnderTest, openRealServer } from './contract/real-server.ts'
import type { RealServer } from './contract/real-server.ts'

const under = await bubblewrapUnderTest()

/** An archive by hand, so that it may hold names that no tar would write. */
function archiveOf(members: Readonly<Record<string, string>>): Buffer {
  const blocks = Object.entries(members).flatMap(([name, text]) => {
    const header = Buffer.alloc(512)
    header.write(name, 0)
    header.write('0000644\0' + '0000000\0'.repeat(2), 100)
    header.write(`${text.length.toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0${' '.repeat(8)}0`, 124)
    header.write('ustar', 257)
    header.write('00', 263)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [header, Buffer.from(text.padEnd(Math.ceil(text.length / 512) * 512, '\0'))]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

describe.skipIf(under.skipReason !== null)(`archives${because(under)}`, () => {
  let real: RealServer
  let session: string
  beforeAll(async () => {
    real = await openRealServer()
    session = await real.session('work')
  })
  afterAll(() => real.close())

  const at = (path: string) => `/v1/sessions/${session}/files/archive?${new URLSearchParams({ path }).toString()}`
  const sh = (command: string) => real.sh(session, command)
  const put = (path: string, body: Uint8Array) => real.request(at(path), { method: 'PUT', body })
  const told = async (response: Response) => ({ status: response.status, body: (await response.json()) as Record<string, unknown> })
  const TREE = "find . -printf '%P %y %m %l\\n' | sort; find . -type f -exec sha256sum {} + | sort"

  test('a tree comes back as it was: contents, modes, links, empty directories, odd names', async () => {
    await sh(`mkdir -p tree/empty 'tree/with space/é' && cd tree && head -c 3000000 /dev/urandom > big && echo x > 'with space/é/file' &&
      chmod 755 big && chmod 2770 empty && chmod 664 'with space/é/file' && ln -s big link && ln -s /nowhere dangling && echo n > "new
line" && echo d > -dash`)
    const response = await real.request(at('tree'))
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-tar'])
    const archive = Buffer.from(await response.arrayBuffer())
    for (const [copy, body] of [
      ['copy', archive],
      ['zipped', gzipSync(archive)],
    ] as const) {
      expect(await told(await put(`made/${copy}`, body))).toMatchObject({
        status: 200,
        body: { path: `/workspace/made/${copy}`, type: 'directory', owner: 'user' },
      })
      expect(await sh(`cd made/${copy}; ${TREE}`)).toBe(await sh(`cd tree; ${TREE}`))
    }
    expect(await sh('ls made')).toBe('copy\nzipped\n')
  })

  test('one file is an archive of one', async () => {
    await sh('echo alone > single')
    const archive = Buffer.from(await (await real.request(at('single'))).arrayBuffer())
    expect(execFileSync('tar', ['-xO'], { input: archive }).toString()).toBe('alone\n')
  })

  test('names that climb or begin at the root stay below the directory', async () => {
    expect((await put('jail/below', archiveOf({ '/tmp/evil': 'a', good: 'b' }))).status).toBe(200)
    expect(await sh('ls /tmp; cd jail/below; cat tmp/evil good')).toBe('ab')
    for (const name of ['../evil', 'good/../../evil', '../../../tmp/evil']) await put('jail/below', archiveOf({ [name]: 'c' }))
    expect(await sh('ls /tmp jail . | grep evil || echo none')).toBe('none\n')
    // What cannot be done whole is not done at all.
    expect(await told(await put('jail/new', archiveOf({ good: 'd', '../evil': 'e' })))).toMatchObject({ status: 422 })
    expect(await sh('ls jail')).toBe('below\n')
  })

  test('unpacking into a directory that is there adds to it', async () => {
    await sh('mkdir present; echo kept > present/kept')
    await put('present', archiveOf({ added: 'new' }))
    expect(await sh('cd present; cat kept added')).toBe('kept\nnew')
  })

  test('what is no archive is refused with what tar says, and leaves no directory', async () => {
    const answer = await told(await put('rubbish', randomBytes(5000)))
    expect(answer).toMatchObject({
      status: 422,
      body: {
        code: 'file_operation_failed',
        details: { program: 'tar', message: expect.stringMatching(/does not look like a tar archive|invalid tar/) },
      },
    })
    expect(await sh('ls | grep rubbish || echo none')).toBe('none\n')
    await sh('echo x > plain')
    expect(await told(await put('plain', archiveOf({ a: 'b' })))).toMatchObject({ status: 422, body: { details: { errno: 'ENOTDIR' } } })
    expect(await told(await put('/etc/new', archiveOf({ a: 'b' })))).toMatchObject({ status: 403, body: { code: 'file_forbidden' } })
  })

  test('an archive that breaks off leaves no new directory', async () => {
    const request = httpRequest(`${real.server.url}${at('half')}`, {
      ...{ method: 'PUT', agent: false, headers: { authorization: `Bearer ${real.adminKey}`, 'transfer-encoding': 'chunked' } },
    })
    request.on('error', () => undefined)
    const archive = archiveOf({ first: 'x'.repeat(100_000), second: 'y'.repeat(9_000_000) })
    if (!request.write(archive.subarray(0, 5_000_000))) await once(request, 'drain')
    await eventually(() => sh('find . -name second')).toContain('half')
    request.destroy()
    await eventually(() => sh('ls | grep half || echo none')).toBe('none\n')
    expect(await sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "')).not.toContain('tar -x')
    expect(real.logged.join('')).not.toContain('request-failed')
  })

  test('a tar that fails while it is read cuts the connection; one that fails at once is told', async () => {
    await sh('mkdir -p torn; head -c 20000000 /dev/urandom > torn/a; head -c 20000000 /dev/urandom > torn/b; chmod 000 torn/b')
    await expect((async () => (await real.request(at('torn'))).arrayBuffer())()).rejects.toThrow('terminated')
    await sh('mkdir -p closed; chmod 000 closed')
    expect(await told(await real.request(at('closed')))).toMatchObject({
      status: 403,
      body: { code: 'file_forbidden', details: { program: 'tar', message: expect.stringContaining('Permission denied') } },
    })
  })

  test('files that change meanwhile do not spoil an archive', async () => {
    await sh('mkdir -p busy; head -c 30000000 /dev/urandom > busy/steady; sha256sum < busy/steady > sum')
    const response = await real.request(at('busy'))
    // Its window is full long before its end, so tar is still at work.
    await sh('touch busy/steady; echo new > busy/new')
    const archive = Buffer.from(await response.arrayBuffer())
    const steady = execFileSync('tar', ['-xO', './steady'], { input: archive, maxBuffer: 64_000_000 })
    expect(`${createHash('sha256').update(steady).digest('hex')}  -\n`).toBe(await sh('cat sum'))
  })

  test('a reader who leaves ends tar', async () => {
    await sh('mkdir -p huge; truncate -s 10G huge/sparse')
    const leaving = new AbortController()
    const response = await real.request(at('huge'), { signal: leaving.signal })
    await response.body?.getReader().read()
    leaving.abort()
    await eventually(() => sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "')).not.toContain('tar -c')
    // The server learns of the end after the process is gone.
    await eventually(() => real.server.plane.sessions.attended).toBe(0)
  })
})
