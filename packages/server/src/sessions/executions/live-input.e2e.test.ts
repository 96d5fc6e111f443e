/** Input to a running program on real bubblewrap: in order, through broken connections and restarts, never twice and never silently less. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import type { Execution } from '../../guest/inside.ts'
import { bubblewrapBackend } from '../../sandboxes/backends/bubblewrap/bubblewrap-backend.ts'
import { signalPid } from '../../sandboxes/backends/jail/process-identity.ts'
import { subjectOf } from '../../sandboxes/contract/contracts.ts'
import { openLaboratory } from '../../sandboxes/contract/laboratory.ts'
import type { Laboratory } from '../../sandboxes/contract/laboratory.ts'
import { tappedBackend } from '../../sandboxes/contract/tapped-backend.ts'
import type { TappedBackend } from '../../sandboxes/contract/tapped-backend.ts'
import { processesOf } from '../../sandboxes/contract/traces.ts'
import { attachSandbox, launchSandbox } from '../../sandboxes/live-sandbox.ts'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import { followExecution } from './follow-execution.ts'
import type { FollowedEnd } from './follow-execution.ts'
import { executionEnded, LiveInput } from './live-input.ts'
import { createOutputLog } from './output-log.ts'
import type { OutputLog } from './output-log.ts'

const NEVER = new AbortController().signal
/** More than pipe and guest hold together. */
const TOO_MUCH = Buffer.alloc(4_000_000, 'x')

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`input on ${under.kind}${because(under)}`, () => {
    let laboratory: Laboratory
    let backend: TappedBackend
    let live: LiveSandbox
    let directory: string
    const logs: OutputLog[] = []
    const closed: string[] = []

    beforeEach(async () => {
      directory = mkdtempSync(join(tmpdir(), 'holdfast-input-'))
      laboratory = await openLaboratory(subjectOf(under, (needs) => bubblewrapBackend(needs)))
      backend = tappedBackend(laboratory.backend)
      live = await launchSandbox(backend, laboratory.newName(), laboratory.spec())
      closed.length = 0
    })
    afterEach(async () => {
      live.detach()
      for (const log of logs.splice(0)) await log.close()
      expect(await laboratory.close()).toEqual([])
      rmSync(directory, { recursive: true, force: true })
    })

    const guests = () =>
      processesOf(basename(laboratory.directory))
        .filter(({ command }) => /guest serve /.test(command) && !/bwrap|launcher/.test(command))
        .map(({ pid }) => pid)
    /** As the executions of a session are followed. */
    function follow(execution: Execution | { readonly tag: string }, kind: 'open' | 'terminal' = 'open', over = live) {
      const log = createOutputLog({ directory, id: 'exe_1', startTime: Date.now(), clock: Date.now })
      logs.push(log)
      const input = new LiveInput({ live: over, kind, onClosed: async () => void closed.push('exe_1') })
      const ended: Promise<FollowedEnd> = followExecution({ live: over, execution, log, onReading: (reading) => input.attach(reading) })
      void ended.finally(() => input.end(executionEnded()))
      const printed = async () => Buffer.concat((await log.read(0)).chunks.map(({ bytes }) => bytes)).toString()
      const prints = async (text: string) => {
        for await (const _ of log.follow(0)) if ((await printed()).includes(text)) return
      }
      return { log, input, ended, printed, prints, write: (text: string, isLast = false) => input.write(Buffer.from(text), isLast, NEVER) }
    }
    const start = async (script: string) => follow(await live.inside.exec({ argv: ['/bin/sh', '-c', script], tag: 'exe_1', stdin: 'pipe' }))

    test('goes over the next connection when one has broken', async () => {
      const { write, prints, printed, ended } = await start('cat')
      await write('one ')
      await prints('one')
      const dialled = Promise.withResolvers<void>()
      backend.beforeDial = () => dialled.promise
      backend.cut()
      await expect.poll(() => live.health.reconnects === 0 && backend.connections.at(-1)?.destroyed).toBe(true)
      const waiting = write('two ')
      dialled.resolve()
      await waiting
      await write('three', true)
      expect(await ended).toMatchObject({ outcome: 'ended', exitCode: 0 })
      expect(await printed()).toBe('one two three')
      expect(closed).toEqual(['exe_1'])
    })

    test('is with the guest when it is said to be, and not before', async () => {
      const { write, ended, printed } = await start('cat')
      for (const pid of guests()) signalPid(pid, 'SIGSTOP')
      let isSaid = false
      const written = write('late').then(() => void (isSaid = true))
      for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      expect(isSaid).toBe(false)
      for (const pid of guests()) signalPid(pid, 'SIGCONT')
      await written
      await write('', true)
      await ended
      expect(await printed()).toBe('late')
    })

    test('that is only sent is said to be doubtful when the connection breaks before it was proved, and not else', async () => {
      const { input, write, ended, printed } = await start('cat')
      const doubted = Promise.withResolvers<unknown>()
      for (const pid of guests()) signalPid(pid, 'SIGSTOP')
      await input.send([Buffer.from('one ')], NEVER, doubted.resolve)
      backend.cut()
      expect(await doubted.promise).toMatchObject({ code: 'input_uncertain' })
      for (const pid of guests()) signalPid(pid, 'SIGCONT')
      const doubts: unknown[] = []
      await input.send([Buffer.from('two ')], NEVER, (error) => doubts.push(error))
      await write('three', true)
      await ended
      expect(await printed()).toMatch(/^(one )?two three$/)
      expect(doubts).toEqual([])
    })

    test('that was on its way when the connection broke is uncertain, and is not sent again', async () => {
      const { input, write, ended, printed } = await start('sleep 0.5; wc -c')
      const torn = input.write(TOO_MUCH, false, NEVER)
      await live.inside.ping()
      backend.cut()
      await expect(torn).rejects.toMatchObject({ code: 'input_uncertain' })
      // Whoever looked may go on: the way is open again, and nothing was put in by itself.
      await write('', true)
      expect(await ended).toMatchObject({ outcome: 'ended', exitCode: 0 })
      const received = Number(await printed())
      expect(received).toBeGreaterThan(0)
      expect(received).toBeLessThan(TOO_MUCH.length)
    })

    test('reaches a program that an earlier server started', async () => {
      const first = await start('echo ready; cat')
      await first.prints('ready')
      await first.write('before ')
      live.detach()
      expect(await first.ended).toMatchObject({ outcome: 'left' })
      const again = await attachSandbox(laboratory.reopen(), live.name)
      const second = follow({ tag: 'exe_1' }, 'open', again)
      await second.write('after', true)
      expect(await second.ended).toMatchObject({ outcome: 'ended', exitCode: 0 })
      expect(await second.printed()).toBe('ready\nbefore after')
      again.detach()
    })

    test('of several writers is never mixed', async () => {
      const { input, write, ended, printed } = await start('cat')
      const parts = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(200_000))
      await Promise.all(parts.map((part) => input.write(Buffer.from(part), false, NEVER)))
      await write('', true)
      await ended
      expect((await printed()).replaceAll(/(.)\1*/g, '$1')).toHaveLength(4)
    })

    test('of a writer who left is not held: the next one gets its turn once the program reads', async () => {
      const { input, write, ended, printed } = await start('sleep 0.5; wc -c')
      const leaving = new AbortController()
      const left = input.write(TOO_MUCH, false, leaving.signal)
      await live.inside.ping()
      leaving.abort()
      await expect(left).rejects.toMatchObject({ code: 'request_cancelled' })
      await write('hello', true)
      expect(await ended).toMatchObject({ outcome: 'ended' })
      // What had not been sent when it left was not sent any more.
      expect(Number(await printed())).toBeLessThan(TOO_MUCH.length)
    })

    test('ends with the program, for those who wait and for those who come later', async () => {
      const { input, write, ended } = await start('exec sleep 600')
      const waiting = input.write(TOO_MUCH, false, NEVER).then(
        () => 'swallowed',
        (error: { code: string }) => error.code,
      )
      await live.inside.processes.kill({ tag: 'exe_1' })
      await ended
      expect(['swallowed', 'execution_ended']).toContain(await waiting)
      await expect(write('x')).rejects.toMatchObject({ code: 'execution_ended' })
      await expect(input.resize({ cols: 1, rows: 1 }, NEVER)).rejects.toMatchObject({ code: 'not_interactive' })
    })

    test('to a terminal may go on after its end of input, and a size arrives over a new connection', async () => {
      const script = 'stty -echo; echo ready; cat; echo again; cat; stty size'
      const execution = await live.inside.pty({ argv: ['/bin/sh', '-c', script], tag: 'exe_1', size: { cols: 80, rows: 24 } })
      const { input, write, prints, printed, ended } = follow(execution, 'terminal')
      await prints('ready')
      await write('one\n', true)
      await prints('again')
      backend.cut()
      await input.resize({ cols: 33, rows: 11 }, NEVER)
      await write('two\n', true)
      expect(await ended).toMatchObject({ outcome: 'ended', exitCode: 0 })
      expect(await printed()).toBe('ready\r\none\r\nagain\r\ntwo\r\n11 33\r\n')
      expect(closed).toEqual([])
    })
  })
}
