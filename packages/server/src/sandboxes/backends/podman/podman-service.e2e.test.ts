/** Podman's service as the backend starts, finds again and ends it; with a private Podman in a directory of a long name. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath, getuid, kill } from 'node:process'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { podmanBackend, type PodmanSettings } from './podman-backend.ts'

const hasPodman = await access('/usr/bin/podman').then(
  () => true,
  () => false,
)
const reason = !hasPodman ? 'podman is not installed' : getuid?.() === 0 ? null : 'a private podman needs root'

describe.skipIf(reason !== null)(`the service of podman${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let directory: string
  let settings: PodmanSettings
  const needs = () => ({ serverId: 's', stateDir: join(directory, 'x'.repeat(120)), guestPath: '/nowhere', launcherPath: '/nowhere' })
  const servicePid = async (): Promise<number> =>
    Number((await readFile(join(needs().stateDir, 'podman-service.pid'), 'utf8')).split(' ')[0])
  /** One that is dead but not yet collected by its new parent has no command line any more. */
  const isAlive = async (pid: number): Promise<boolean> => (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== ''

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'holdfast-podman-'))
    // vfs: the usual driver keeps a mount that outlives the test.
    settings = {
      args: [
        '--storage-driver',
        'vfs',
        '--root',
        join(directory, 'root'),
        '--runroot',
        join(directory, 'run'),
        '--tmpdir',
        join(directory, 'tmp'),
      ],
    }
  })
  afterEach(() => rm(directory, { recursive: true, force: true }))

  test('a probe starts nothing', async () => {
    const backend = podmanBackend(needs(), settings)
    expect(await backend.probe()).toMatchObject({ available: true })
    await expect(servicePid()).rejects.toMatchObject({ code: 'ENOENT' })
    await backend.close()
  })

  test('the first call starts it and close ends it, twice if need be', async () => {
    const backend = podmanBackend(needs(), settings)
    const lists = await Promise.all([backend.list(), backend.list(), backend.list()])
    expect(lists).toEqual([[], [], []])
    const pid = await servicePid()
    expect(await isAlive(pid)).toBe(true)
    await backend.close()
    await backend.close()
    expect(await isAlive(pid)).toBe(false)
  })

  test('a service that died is started again by the next call', async () => {
    const backend = podmanBackend(needs(), settings)
    await backend.list()
    const first = await servicePid()
    kill(first, 'SIGKILL')
    // Until it is dead it may still take a call, and die over it.
    await expect.poll(() => isAlive(first)).toBe(false)
    expect(await backend.list()).toEqual([])
    expect(await servicePid()).not.toBe(first)
    await backend.close()
  })

  test('the service of a killed server is used by the next one and ended with it', async () => {
    const script = `
      const { podmanBackend } = await import(${JSON.stringify(join(import.meta.dirname, 'podman-backend.ts'))})
      await podmanBackend(${JSON.stringify(needs())}, ${JSON.stringify(settings)}).list()
      console.log('ready')
      setInterval(() => undefined, 1000)`
    const server = spawn(execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(server.stdout, 'data')
    const pid = await servicePid()
    server.kill('SIGKILL')
    await once(server, 'exit')
    expect(await isAlive(pid)).toBe(true)

    const backend = podmanBackend(needs(), settings)
    await backend.list()
    expect(await servicePid()).toBe(pid)
    await backend.close()
    await expect.poll(() => isAlive(pid)).toBe(false)
  })

  test('a podman that cannot start says why', async () => {
    const backend = podmanBackend(needs(), { args: ['--runtime', '/nowhere/runtime'] })
    await expect(backend.list()).rejects.toMatchObject({ code: 'backend_unavailable', details: { fix: expect.any(String) } })
  })

  test('a missing binary is said to be missing', async () => {
    const backend = podmanBackend(needs(), { ...settings, binary: '/nowhere/podman' })
    expect(await backend.probe()).toEqual({ available: false, reason: 'Podman is not installed', fix: 'sudo apt install podman' })
  })

  test('a named service that does not run is not replaced by another', async () => {
    const backend = podmanBackend(needs(), { socket: join(directory, 'none.sock') })
    expect(await backend.probe()).toMatchObject({ available: false, reason: expect.stringContaining('none.sock') })
    await expect(backend.list()).rejects.toMatchObject({ code: 'backend_unavailable' })
    await expect(servicePid()).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
