/** What is measured, on real directories. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  fchownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../../config.ts'
import { createSandboxFiles } from '../../home/sandbox-files.ts'
import { isServerRoot } from '../../sandboxes/sandbox-user.ts'
import { createMeasuring } from './measuring.ts'

const MEBIBYTE = 2 ** 20
const { measure } = createMeasuring(createSandboxFiles({ ...loadConfig({}, {}), isRoot: isServerRoot(), subordinate: null }))
let directory: string
/** Of the directory itself. */
let own: number
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-measured-'))
  own = statSync(directory).blocks * 512
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** No program of this machine sees it there. */
const placed = () => [{ directory, inside: '/nowhere' }]
const all = async () => (await measure(placed(), null, null, AbortSignal.timeout(30_000))).usage
const write = (name: string, bytes: number) => writeFileSync(join(directory, name), Buffer.alloc(bytes, 1))

test('bytes are those on the disk: holes cost nothing, several names nothing more, links are not followed', async () => {
  write('one', 3 * MEBIBYTE)
  linkSync(join(directory, 'one'), join(directory, 'two'))
  linkSync(join(directory, 'one'), join(directory, 'three'))
  write('sparse', 0)
  truncateSync(join(directory, 'sparse'), 2 ** 33)
  symlinkSync('/usr', join(directory, 'link'))
  expect(await all()).toEqual({ bytes: own + 3 * MEBIBYTE, entries: 5, hidden: 0 })
})

test.skipIf(process.getuid?.() !== 0)('what is removed counts once while programs that see the directory have it open', async () => {
  // Of nobody else on this machine, where every program sees this directory.
  const uid = 3_900_000_000 + process.pid
  const seen = [{ directory, inside: directory }]
  const held = [openSync(join(directory, 'gone'), 'w'), openSync(join(directory, 'gone'), 'r')] as const
  writeSync(held[0], Buffer.alloc(2 * MEBIBYTE, 1))
  fchownSync(held[0], uid, 0)
  unlinkSync(join(directory, 'gone'))
  const removed = async (places = seen) => (await measure(places, uid, null, AbortSignal.timeout(30_000))).usage
  expect(await removed()).toEqual({ bytes: own + 2 * MEBIBYTE, entries: 1, hidden: 0 })
  expect((await removed(placed())).bytes).toBe(own)
  expect((await measure(seen, uid + 1, null, AbortSignal.timeout(30_000))).usage.bytes).toBe(own)
  held.map(closeSync)
  expect(await removed()).toEqual({ bytes: own, entries: 0, hidden: 0 })
})

/** In `directory`, of a user that nobody else is: files that are removed, sent over sockets and closed. Prints a line, then waits for its input to end. */
const SENDER = `
import os, socket, sys
os.chdir(sys.argv[1]); os.setresuid(int(sys.argv[2]), int(sys.argv[2]), int(sys.argv[2]))
def removed():
    fd = os.open('sent', os.O_CREAT | os.O_WRONLY); os.write(fd, b'x' * 2**20); os.unlink('sent'); return fd
def send(to, text):
    fd = removed(); socket.send_fds(to, [text], [fd]); os.close(fd)
keep = []
def pair(kind):
    keep.append(socket.socketpair(socket.AF_UNIX, kind)); return keep[-1][0]
if sys.argv[3] == 'received-later':
    stream = pair(socket.SOCK_STREAM); send(stream, b'a' * 5000); stream.send(b'b' * 5000); send(stream, b'c')
    datagrams = pair(socket.SOCK_DGRAM); send(datagrams, b'd' * 70000); send(datagrams, b'e')
    inner = socket.socketpair(); send(inner[0], b'f'); socket.send_fds(stream, [b'g'], [inner[1].fileno()]); inner[1].close(); keep.append(inner)
else:
    listening = socket.socket(socket.AF_UNIX); listening.bind('s'); listening.listen(); keep.append(listening)
    client = socket.socket(socket.AF_UNIX); client.connect('s'); send(client, b'h'); keep.append(client)
print('sent', flush=True); sys.stdin.read()
if sys.argv[3] == 'received-later': print(len(socket.recv_fds(keep[0][1], 10000, 9)[1]), flush=True)
`

test.skipIf(process.getuid?.() !== 0)('files in messages that nobody has received count, and the messages stay', async () => {
  const uid = 3_910_000_000 + process.pid
  chownSync(directory, uid, 0)
  const measured = async () => measure([{ directory, inside: directory }], uid, null, AbortSignal.timeout(30_000))
  for (const [mode, bytes, unseen, received] of [
    ['received-later', 5 * MEBIBYTE, 0, '1'],
    ['not-accepted', 0, 1, undefined],
  ] as const) {
    const sender = spawn('python3', ['-c', SENDER, directory, String(uid), mode], { stdio: ['pipe', 'pipe', 'inherit'] })
    const lines = createInterface({ input: sender.stdout })[Symbol.asyncIterator]()
    expect((await lines.next()).value).toBe('sent')
    for (let time = 0; time < 2; time += 1) expect(await measured()).toMatchObject({ usage: { bytes: own + bytes, hidden: 0 }, unseen })
    sender.stdin.end()
    expect((await lines.next()).value).toBe(received)
    await once(sender, 'exit')
  }
})

test('it stops at the ceiling, whichever it is', async () => {
  for (let file = 0; file < 20; file += 1) write(`${file}`, 64 * 1024)
  const under = async (ceiling: Partial<{ bytes: number; entries: number }>) =>
    measure(placed(), null, { bytes: 2 ** 40, entries: 1000, hidden: 0, ...ceiling }, AbortSignal.timeout(30_000))
  expect(await under({})).toEqual({ usage: { bytes: own + 20 * 64 * 1024, entries: 20, hidden: 0 }, isOver: false, unseen: 0 })
  expect(await under({ bytes: own + 100_000 })).toMatchObject({ usage: { entries: 2 }, isOver: true })
  expect(await under({ entries: 10 })).toMatchObject({ usage: { entries: 11 }, isOver: true })
})

test('a directory that its owner closed is looked into; what is deeper than can be measured is hidden', async () => {
  mkdirSync(join(directory, 'closed'))
  write('closed/inside', MEBIBYTE)
  chmodSync(join(directory, 'closed'), 0)
  expect((await all()).bytes).toBeGreaterThanOrEqual(MEBIBYTE)
  mkdirSync(join(directory, ...Array.from({ length: 1100 }, () => 'd')), { recursive: true })
  expect(await all()).toMatchObject({ hidden: 1 })
})

test('a directory that is not there holds nothing, and one that is no directory is told', async () => {
  const missing = [{ directory: join(directory, 'missing'), inside: '/workspace' }]
  expect((await measure(missing, null, null, AbortSignal.timeout(30_000))).usage).toEqual({ bytes: 0, entries: 0, hidden: 0 })
  write('file', 1)
  const file = [{ directory: join(directory, 'file'), inside: '/workspace' }]
  await expect(measure(file, null, null, AbortSignal.timeout(30_000))).rejects.toMatchObject({ code: 'session_unavailable' })
})

test('many names make a directory large, and that counts', async () => {
  for (let file = 0; file < 3000; file += 1) writeFileSync(join(directory, `${'n'.repeat(200)}${file}`), '')
  expect(await all()).toMatchObject({ bytes: statSync(directory).blocks * 512, entries: 3000 })
})
