/** The watch of TCP buffers: it kills what is over its bound, and looks at sandboxes only when one of them can be. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { identify, isAlive, type ProcessIdentity } from './jail/process-identity.ts'
import { createTcpWatch, parseSockstat } from './tcp-watch.ts'

const LIMIT = 16_000_000
let cgroup = ''
let child: ChildProcess
let first: ProcessIdentity

beforeEach(() => {
  // The clock too: the pause after a tick is a multiple of its duration, which is long on a busy machine.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  cgroup = mkdtempSync(join(tmpdir(), 'holdfast-cgroup-'))
  child = spawn('/bin/sleep', ['60'])
  const [found] = identify(child.pid ?? 0)
  if (found === undefined) throw new Error('the process did not start')
  first = found
  hold(0, LIMIT)
})
afterEach(() => {
  vi.useRealTimers()
  child.kill('SIGKILL')
  rmSync(cgroup, { recursive: true })
})

function hold(bytes: number, limit: number | string): void {
  writeFileSync(join(cgroup, 'memory.kmem.tcp.usage_in_bytes'), `${bytes}\n`)
  writeFileSync(join(cgroup, 'memory.kmem.tcp.limit_in_bytes'), `${limit}\n`)
}

test('a sandbox may pass its limit by half, and is killed beyond that; its error names both numbers', async () => {
  const warn = vi.fn()
  const watch = createTcpWatch({ log: { warn }, machineBytes: () => Number.POSITIVE_INFINITY })
  watch.add('sbx_a', first, ['/nonexistent', cgroup])
  hold(LIMIT * 1.5, LIMIT)
  vi.advanceTimersByTime(1_000)
  expect([isAlive(first), watch.overrunOf('sbx_a')]).toEqual([true, null])
  expect(watch.goneError('sbx_a')).toMatchObject({ code: 'sandbox_gone', message: 'the sandbox sbx_a is not running' })

  const ended = once(child, 'exit')
  hold(LIMIT * 1.5 + 1, LIMIT)
  vi.advanceTimersByTime(1_000)
  expect(await ended).toEqual([null, 'SIGKILL'])
  expect(watch.overrunOf('sbx_a')).toEqual({ heldBytes: 24_000_001, limitBytes: LIMIT })
  expect(watch.goneError('sbx_a')).toMatchObject({
    code: 'sandbox_gone',
    message: expect.stringContaining('held 24000001 bytes, and their limit is 16000000') as string,
  })
  expect(warn).toHaveBeenCalledExactlyOnceWith('tcp-buffers-over-limit', { sandbox: 'sbx_a', held_bytes: 24_000_001, limit_bytes: LIMIT })
  expect(vi.getTimerCount()).toBe(0)
})

test('no sandbox is read while the whole machine holds less than half a limit', () => {
  const machineBytes = vi.fn(() => LIMIT / 2 - 1)
  const watch = createTcpWatch({ machineBytes })
  watch.add('sbx_a', first, [cgroup])
  hold(LIMIT * 2, LIMIT)
  vi.advanceTimersByTime(1_000)
  expect(machineBytes).toHaveBeenCalled()
  expect(isAlive(first)).toBe(true)
})

test.each([
  ['without the kernel’s limit', 'missing', LIMIT],
  ['with the number that means no limit', '', '9223372036854771712'],
])('a sandbox %s is not watched', (_, below, limit) => {
  hold(0, limit)
  createTcpWatch({}).add('sbx_a', first, [join(cgroup, below)])
  expect(vi.getTimerCount()).toBe(0)
})

test('the watch ends with the last sandbox', () => {
  const watch = createTcpWatch({})
  watch.add('sbx_a', first, [cgroup])
  vi.advanceTimersByTime(100)
  expect(vi.getTimerCount()).toBe(1)
  watch.remove('sbx_a')
  vi.advanceTimersByTime(100)
  expect(vi.getTimerCount()).toBe(0)
})

test('the machine’s buffers are those of TCP and UDP, in pages', () => {
  const text = (tcp: number, udp: number) =>
    `sockets: used 42\nTCP: inuse 1 orphan 0 tw 16 alloc 1 mem ${tcp}\nUDP: inuse 0 mem ${udp}\nUDPLITE: inuse 0\nFRAG: inuse 0 memory 7\n`
  const page = parseSockstat(text(1, 0)) - parseSockstat(text(0, 0))
  expect(page).toBeGreaterThanOrEqual(4_096)
  expect(parseSockstat(text(171, 5)) - parseSockstat(text(0, 0))).toBe(176 * page)
})
