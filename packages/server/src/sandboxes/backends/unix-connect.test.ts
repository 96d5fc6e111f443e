/** Unix sockets beyond the kernel's 107 bytes, and links that a guest could plant. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectUnix } from './unix-connect.ts'

let directory: string
let server: Server

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-unix-'))
  server = createServer((socket) => socket.end('hello'))
  server.listen(join(directory, 'a.sock'))
  await once(server, 'listening')
})

afterEach(async () => {
  server.close()
  await rm(directory, { recursive: true })
})

async function said(path: string, links: 'follow' | 'refuse'): Promise<string> {
  const socket = await connectUnix(path, links)
  const [bytes] = await once(socket, 'data')
  socket.destroy()
  return String(bytes)
}

test('a socket below a path of 300 bytes is reached', async () => {
  const deep = join(directory, 'x'.repeat(150), 'y'.repeat(150))
  await mkdir(deep, { recursive: true })
  await rename(join(directory, 'a.sock'), join(deep, 'a.sock'))
  expect(await said(join(deep, 'a.sock'), 'refuse')).toBe('hello')
})

test('a link in the place of the socket is refused where links are refused', async () => {
  await symlink(join(directory, 'a.sock'), join(directory, 'link.sock'))
  await expect(connectUnix(join(directory, 'link.sock'), 'refuse')).rejects.toMatchObject({ code: 'ENOTSOCK' })
  expect(await said(join(directory, 'link.sock'), 'follow')).toBe('hello')
})

test('a file in the place of the socket is refused', async () => {
  await writeFile(join(directory, 'file'), '')
  await expect(connectUnix(join(directory, 'file'), 'refuse')).rejects.toMatchObject({ code: 'ENOTSOCK' })
})

test('a missing socket says so', async () => {
  await expect(connectUnix(join(directory, 'none'), 'refuse')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('an aborted signal ends the attempt with its reason', async () => {
  const reason = new Error('enough')
  await expect(connectUnix(join(directory, 'a.sock'), 'refuse', AbortSignal.abort(reason))).rejects.toBe(reason)
})
