/** The attacks have teeth: made where nothing isolates, the harmless ones among them succeed and say so. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, openSync, closeSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildAttackProgram } from './attack-program.ts'

let directory: string
let program: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-attacks-'))
  chmodSync(directory, 0o755)
  program = join(directory, 'attack')
  buildAttackProgram(program)
  writeFileSync(join(directory, 'secret'), 'the secret text')
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

async function attackHost(...values: readonly string[]): Promise<string> {
  const child = spawn(program, values, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await once(child, 'close')
  return said
}

async function attackListener(
  where: string | { readonly port: number; readonly host: string },
  attempt: (port: string) => readonly string[],
): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined) // the attacker leaves as soon as it has seen enough
    socket.end('greeting')
  })
  if (typeof where === 'string') server.listen(where)
  else server.listen(where.port, where.host)
  await once(server, 'listening')
  const address = server.address()
  const said = await attackHost(...attempt(typeof address === 'object' && address !== null ? String(address.port) : ''))
  server.close()
  return said
}

describe('outside a sandbox', () => {
  test('a listener on loopback is reached', async () => {
    expect(await attackListener({ port: 0, host: '127.0.0.1' }, (port) => ['connect-tcp', '127.0.0.1', port])).toMatch(/^broken: connected/)
  })

  test('an abstract socket is reached', async () => {
    const name = `holdfast-attack-${crypto.randomUUID()}`
    expect(await attackListener(`\0${name}`, () => ['connect-abstract', name])).toMatch(/^broken: connected/)
  })

  test('a socket that greets is found by its path', async () => {
    const path = join(directory, 'greeter.sock')
    expect(await attackListener(path, () => ['connect-unix', path])).toMatch(/^broken: .* answered/)
  })

  test('a file is read by its path, from above and through /proc', async () => {
    const path = join(directory, 'secret')
    expect(await attackHost('read', path, 'the secret')).toMatch(/^broken: /)
    expect(await attackHost('climb', '/usr/bin', path, 'the secret')).toMatch(/^broken: /)
    expect(await attackHost('read-through-proc', path, 'the secret')).toMatch(/^broken: /)
  })

  test('a file is linked, changed and found writable', async () => {
    const place = join(directory, 'place')
    mkdirSync(place)
    writeFileSync(join(place, 'note'), 'note')
    expect(await attackHost('hard-link', join(place, 'note'), join(place, 'linked'))).toMatch(/^broken: /)
    expect(await attackHost('change-read-only', place, join(place, 'note'))).toMatch(/^broken: creating a file/)
    expect(await attackHost('write-anywhere-but')).toMatch(/^broken: .* can be written/)
  })

  test('another process is seen and killed', async () => {
    const marker = `holdfast-attack-${crypto.randomUUID()}`
    const victim = spawn('/bin/sh', ['-c', 'echo up; read line', marker], { stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = once(victim, 'exit')
    await once(victim.stdout, 'data')
    expect(await attackHost('find-process', marker)).toMatch(/^broken: /)
    expect(await attackHost('signal-process', String(victim.pid))).toMatch(/^broken: /)
    const [, signal] = await ended
    expect(signal).toBe('SIGKILL')
  })

  test('a neighbour is seen, and its directory listed and changed', async () => {
    const place = join(directory, 'neighbour')
    mkdirSync(place)
    expect(await attackHost('see-neighbour', String(process.pid))).toMatch(/^broken: /)
    // With number 0 nothing is sent: the first call that is not refused is enough.
    expect(await attackHost('signal-neighbour', String(process.pid))).toMatch(/^broken: kill 0/)
    expect(await attackHost('touch-neighbour', String(process.pid), 'ptrace')).toMatch(/^unable: .* no living process of another user/)
    expect(await attackHost('list-directory', place)).toMatch(/^broken: /)
    expect(await attackHost('change-directory', place)).toMatch(/^broken: made/)
  })

  test('space is reserved, in each of the ways that this kernel has', async () => {
    expect(await attackHost('reserve-space', directory)).toMatch(/^broken: fallocate 0 left 2\d\d\d blocks/)
  })

  test('a descriptor left open is found', () => {
    const leaked = openSync(join(directory, 'secret'), 'r')
    const { stdout } = spawnSync(program, ['use-descriptors'], { stdio: ['ignore', 'pipe', 'inherit', leaked] })
    closeSync(leaked)
    expect(stdout.toString()).toMatch(/^broken: descriptor 3/)
  })

  test('an attack that could not be made is neither held nor broken', async () => {
    expect(await attackHost('no-such-attack')).toMatch(/^unable: /)
    expect(await attackHost('read')).toMatch(/^unable: /)
  })
})
