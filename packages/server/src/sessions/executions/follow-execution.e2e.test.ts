/** Following executions on real bubblewrap: to a true end, through broken connections, restarts and bad readers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import type { Execution, OutputChunk } from '../../guest/inside.ts'
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
import { followExecution, forgetExecution } from './follow-execution.ts'
import type { FollowedEnd } from './follow-execution.ts'
import { createOutputLog, openStoredOutput, reopenOutputLog } from './output-log.ts'
import type { OutputLog, StoredOutput } from './output-log.ts'
import { startWatchdog } from './watchdog.ts'

const found = (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')
const NUMBERS = 150_000
/** Every line its own number, so that a gap or a double byte shows. */
const COUNTING = `i=0; while [ $i -lt ${NUMBERS} ]; do echo $i; i=$((i+1)); done; exit 7`
const ALL_NUMBERS = Array.from({ length: NUMBERS }, (_, index) => `${index}\n`).join('')

for (const under of found) {
  describe.skipIf(under.skipReason !== null)(`following an execution on ${under.kind}${because(under)}`, () => {
    let laboratory: Laboratory
    let backend: TappedBackend
    let live: LiveSandbox
    let directory: string
    let log: OutputLog

    beforeEach(async () => {
      directory = mkdtempSync(join(tmpdir(), 'holdfast-follow-'))
      laboratory = await openLaboratory(subjectOf(under, (needs) => bubblewrapBackend(needs)))
      backend = tappedBackend(laboratory.backend)
      live = await launchSandbox(backend, laboratory.newName(), laboratory.spec())
      log = createOutputLog({ directory, id: 'exe_1', startTime: Date.now(), clock: Date.now })
    })
    afterEach(async () => {
      live.detach()
      await log.close()
      for (const pid of guests()) signalPid(pid, 'SIGCONT')
      expect(await laboratory.close()).toEqual([])
      rmSync(directory, { recursive: true, force: true })
    })

    const guests = () =>
      processesOf(basename(laboratory.directory))
        .filter(({ command }) => /guest serve /.test(command) && !/bwrap|launcher/.test(command))
        .map(({ pid }) => pid)
    const sh = (script: string, more: { readonly stdin?: 'pipe'; readonly timeoutMs?: number } = {}): Promise<Execution> =>
      live.inside.exec({ argv: ['/bin/sh', '-c', script], tag: 'exe_1', ...more })
    const textOf = async (output: StoredOutput) => Buffer.concat((await output.read(0)).chunks.map(({ bytes }) => bytes)).toString()

    test('a small command gives its exit and its output as a blob, and the guest may then forget it', async () => {
      const chunks: string[] = []
      const execution = await sh('echo out; echo err >&2; exit 3')
      const onChunk = ({ channel, bytes }: OutputChunk) => void chunks.push(`${channel} ${bytes.toString()}`)
      const end = await followExecution({ live, execution, log, onChunk })
      expect(end).toMatchObject({
        outcome: 'ended',
        exitCode: 3,
        signal: null,
        timedOut: false,
        killed: false,
        outputSeq: 8,
        skippedBytes: 0,
      })
      expect(chunks.toSorted()).toEqual(['stderr err\n', 'stdout out\n'])
      const blob = await log.close()
      expect(await textOf(openStoredOutput({ directory, id: 'exe_1', blob, seq: end.outputSeq, startTime: 0 }))).toHaveLength(8)
      await expect.poll(() => live.inside.processes.list()).toMatchObject([{ tag: 'exe_1', state: 'ended' }])
      if (end.outcome === 'ended') forgetExecution(live, end)
      await live.inside.ping()
      expect(await live.inside.processes.list()).toEqual([])
    })

    test('output has no gap and no double byte however often the connection breaks', async () => {
      const execution = await sh(COUNTING)
      const seen: Buffer[] = []
      let cutAt = 20_000
      let cuts = 0
      const end = await followExecution({
        live,
        execution,
        log,
        onChunk: ({ bytes, seq }) => {
          seen.push(Buffer.from(bytes))
          if (seq < cutAt || cuts === 3 || live.health.reconnects < cuts) return
          cutAt = seq + 20_000
          cuts += 1
          backend.cut()
        },
      })
      expect(end).toMatchObject({ outcome: 'ended', exitCode: 7, skippedBytes: 0, outputSeq: ALL_NUMBERS.length })
      expect(Buffer.concat(seen).toString() === ALL_NUMBERS).toBe(true)
      expect((await textOf(log)) === ALL_NUMBERS).toBe(true)
      expect(live.health.reconnects).toBe(3)
    })

    test('a program that ended while there was no connection has its true end', async () => {
      const execution = await sh('echo before; sleep 0.2; echo after; exit 5')
      const dialled = Promise.withResolvers<void>()
      backend.beforeDial = () => dialled.promise
      const ended = followExecution({ live, execution, log, onChunk: () => backend.cut() })
      await expect
        .poll(() => processesOf(basename(laboratory.directory)).filter(({ command }) => command.includes('echo before')))
        .toEqual([])
      dialled.resolve()
      expect(await ended).toMatchObject({ outcome: 'ended', exitCode: 5 })
      expect(await textOf(log)).toBe('before\nafter\n')
    })

    test('a sandbox destroyed from outside leaves a lost execution and no invented exit', async () => {
      const execution = await sh('echo begun; exec sleep 1000')
      const destroyed = Promise.withResolvers<void>()
      const onChunk = () => destroyed.resolve(laboratory.backend.destroy(live.name))
      const end = await followExecution({ live, execution, log, onChunk })
      await destroyed.promise
      expect(end).toMatchObject({ outcome: 'lost', reason: { code: 'sandbox_gone' }, outputSeq: 6 })
      expect(end).not.toHaveProperty('exitCode')
    })

    test('an execution the guest does not know is lost', async () => {
      expect(await followExecution({ live, execution: { tag: 'exe_never' }, log })).toMatchObject({
        outcome: 'lost',
        reason: { code: 'process_unknown' },
      })
    })

    test('a restarted server goes on where the log ends', async () => {
      const execution = await sh(COUNTING)
      const onChunk = ({ seq }: OutputChunk) => void (seq > 100_000 && setImmediate(() => live.detach()))
      const left = await followExecution({ live, execution, log, onChunk })
      expect(left).toMatchObject({ outcome: 'left' })
      await log.close()
      const again = await attachSandbox(laboratory.reopen(), live.name)
      const reopened = await reopenOutputLog({ directory, id: 'exe_1', startTime: 0, clock: Date.now })
      expect(reopened.seq).toBe(left.outputSeq)
      const end = await followExecution({ live: again, execution: { tag: 'exe_1' }, log: reopened })
      expect(end).toMatchObject({ outcome: 'ended', exitCode: 7, skippedBytes: 0 })
      expect((await textOf(reopened)) === ALL_NUMBERS).toBe(true)
      await reopened.close()
      again.detach()
    })

    test('output that was printed unread and is gone is told as skipped', async () => {
      const bytes = 3_000_000
      const execution = await sh(`head -c ${bytes} /dev/zero; echo done; exec sleep 1000`)
      execution.detach()
      await expect.poll(async () => (await live.inside.processes.list())[0]?.seq).toBe(bytes + 5)
      const ended = followExecution({ live, execution: { tag: 'exe_1' }, log })
      await expect.poll(() => log.seq).toBe(bytes + 5)
      await live.inside.processes.kill({ tag: 'exe_1' })
      const end = await ended
      const page = await log.read(0)
      expect(end).toMatchObject({ outcome: 'ended', killed: true, outputSeq: bytes + 5 })
      expect(end.skippedBytes).toBeGreaterThan(1_000_000)
      expect(page.skippedBytes).toBe(end.skippedBytes)
      expect(page.skippedBytes + page.chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0)).toBe(bytes + 5)
    })

    test.each([
      [
        'throws',
        () => {
          throw new Error('the reader is broken')
        },
      ],
      ['rejects', () => Promise.reject(new Error('the reader is broken'))],
    ])('a reader that %s is left behind, and the execution is followed to its end', async (_, onChunk) => {
      const failures: unknown[] = []
      const execution = await sh(COUNTING)
      const end = await followExecution({ live, execution, log, onChunk, onReaderFailed: (error) => failures.push(error) })
      expect(end).toMatchObject({ outcome: 'ended', exitCode: 7 })
      expect(failures).toMatchObject([{ message: 'the reader is broken' }])
      expect((await textOf(log)) === ALL_NUMBERS).toBe(true)
    })

    test('a slow reader slows the program, and one that never goes on does not cost the sandbox', async () => {
      const failures: unknown[] = []
      const execution = await sh('yes', { timeoutMs: 300 })
      const end = await followExecution({
        live,
        execution,
        log,
        onChunk: () => new Promise(() => undefined),
        onReaderFailed: (error) => failures.push(error),
        watchdog: startWatchdog(live, 300, { askAfterMs: 100, answerMs: 10_000, graceMs: 700 }),
      })
      expect(end).toMatchObject({ outcome: 'ended', timedOut: true })
      expect(failures).toMatchObject([{ code: 'request_cancelled' }])
      expect(live.isAlive).toBe(true)
    })

    test('a guest that does not keep a time-out loses its sandbox', async () => {
      const execution = await sh('exec sleep 1000')
      for (const pid of guests()) signalPid(pid, 'SIGSTOP')
      const end = await followExecution({
        ...{ live, execution, log },
        watchdog: startWatchdog(live, 100, { askAfterMs: 50, answerMs: 50, graceMs: 600_000 }),
      })
      expect(end).toMatchObject({ outcome: 'lost', reason: { code: 'guest_unreachable' } })
      await live.destroy()
      expect(await laboratory.backend.list()).toEqual([])
    })

    test('a guest that answers has its grace to end the program before it loses its sandbox', async () => {
      const execution = await sh('exec sleep 1000')
      const end = await followExecution({
        ...{ live, execution, log },
        watchdog: startWatchdog(live, 100, { askAfterMs: 50, answerMs: 10_000, graceMs: 500 }),
      })
      expect(end).toMatchObject({ outcome: 'lost', reason: { message: expect.stringContaining('within 600 ms') } })
      await live.destroy()
    })

    test('stdin is fed whole and ended, also when the program does not want it', async () => {
      const stdin = 'x'.repeat(3_000_000)
      const counting = await sh('wc -c', { stdin: 'pipe' })
      expect(await followExecution({ live, execution: counting, log, stdin })).toMatchObject({ outcome: 'ended', exitCode: 0 })
      expect(await textOf(log)).toBe('3000000\n')
      const careless = await live.inside.exec({ argv: ['/bin/true'], stdin: 'pipe' })
      const other = createOutputLog({ directory, id: 'exe_2', startTime: Date.now(), clock: Date.now })
      expect(await followExecution({ live, execution: careless, log: other, stdin })).toMatchObject({ outcome: 'ended', exitCode: 0 })
    })

    test('a program whose stdin was torn by a broken connection is killed and lost, and does not take the rest for the whole', async () => {
      const execution = await sh('echo ready; sleep 0.1; wc -c', { stdin: 'pipe' })
      const end: FollowedEnd = await followExecution({ live, execution, log, stdin: 'x'.repeat(3_000_000), onChunk: () => backend.cut() })
      expect(end).toMatchObject({ outcome: 'lost', reason: { code: 'request_cancelled' } })
      expect(await textOf(log)).toBe('ready\n')
      expect(live.isAlive).toBe(true)
      expect(processesOf(basename(laboratory.directory)).filter(({ command }) => command.includes('wc -c'))).toEqual([])
    })

    test('a program that wants no stdin and ended before the connection broke has its true end', async () => {
      const execution = await sh('echo ready; exit 4', { stdin: 'pipe' })
      const dialled = Promise.withResolvers<void>()
      backend.beforeDial = () => dialled.promise
      const ended = followExecution({ live, execution, log, stdin: 'x'.repeat(3_000_000), onChunk: () => backend.cut() })
      await expect
        .poll(() => processesOf(basename(laboratory.directory)).filter(({ command }) => command.includes('echo ready')))
        .toEqual([])
      dialled.resolve()
      expect(await ended).toMatchObject({ outcome: 'ended', exitCode: 4, killed: false })
    })

    test('a server that stops while stdin is being sent leaves the sandbox alone', async () => {
      const execution = await sh('echo ready; exec sleep 1000', { stdin: 'pipe' })
      const onChunk = () => void setImmediate(() => live.detach())
      expect(await followExecution({ live, execution, log, stdin: 'x'.repeat(3_000_000), onChunk })).toMatchObject({ outcome: 'left' })
      expect(await laboratory.backend.list()).toEqual([{ name: live.name, running: true }])
    })

    test('a follower of the log sees a running execution live, through a broken connection', async () => {
      const execution = await sh(COUNTING)
      const followed: Buffer[] = []
      const following = (async () => {
        for await (const { chunks, skippedBytes } of log.follow(0)) {
          expect(skippedBytes).toBe(0)
          followed.push(...chunks.map(({ bytes }) => bytes))
          if (followed.length === 1) backend.cut()
        }
      })()
      expect(await followExecution({ live, execution, log })).toMatchObject({ outcome: 'ended', exitCode: 7 })
      await log.close()
      await following
      expect(Buffer.concat(followed).toString() === ALL_NUMBERS).toBe(true)
    })
  })
}
