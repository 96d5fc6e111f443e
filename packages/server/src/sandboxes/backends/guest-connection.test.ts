/** Proofs of the connection that reads without garbage: nothing is lost before somebody listens, order holds, ends are heard. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connectGuest } from './guest-connection.ts'

async function pair(): Promise<{ readonly ours: Socket; readonly theirs: Socket }> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-connection-'))
  const server = createServer()
  const path = join(directory, 'guest.sock')
  server.listen(path)
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const ours = await connectGuest(path)
  const theirs = (await accepted)[0] as Socket
  onTestFinished(() => {
    ours.destroy()
    theirs.destroy()
    server.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return { ours, theirs }
}

function collect(socket: Socket): { readonly text: () => string; readonly ended: Promise<unknown> } {
  let text = ''
  socket.on('data', (bytes: Buffer) => (text += bytes.toString()))
  return { text: () => text, ended: once(socket, 'end') }
}

test('what arrives before anybody listens is heard first, and nothing twice', async () => {
  const { ours, theirs } = await pair()
  theirs.write('hello ')
  // A second connection's data proves that the loop has turned and the first bytes have been read.
  const other = await pair()
  other.theirs.end('x')
  await collect(other.ours).ended
  const seen = collect(ours)
  theirs.end('world')
  await seen.ended
  expect(seen.text()).toBe('hello world')
})

test('two connections share a buffer and never each other’s bytes', async () => {
  const [a, b] = await Promise.all([pair(), pair()])
  const seen = [collect(a.ours), collect(b.ours)]
  for (let i = 0; i < 200; i++) {
    a.theirs.write('a'.repeat(10_000))
    b.theirs.write('b'.repeat(10_000))
  }
  a.theirs.end()
  b.theirs.end()
  await Promise.all(seen.map(({ ended }) => ended))
  expect(seen.map(({ text }) => text())).toEqual(['a'.repeat(2_000_000), 'b'.repeat(2_000_000)])
})

test('a pause holds bytes back, and the end waits for them', async () => {
  const { ours, theirs } = await pair()
  const seen = collect(ours)
  ours.pause()
  theirs.end('late')
  const other = await pair()
  other.theirs.end('x')
  await collect(other.ours).ended
  expect(seen.text()).toBe('')
  ours.resume()
  await seen.ended
  expect(seen.text()).toBe('late')
})
