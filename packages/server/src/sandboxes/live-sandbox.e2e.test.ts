/** A live sandbox on real bubblewrap: connections break and come again, what is gone is known to be gone, a stopped guest is found out. */
import { basename } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { bubblewrapBackend } from './backends/bubblewrap/bubblewrap-backend.ts'
import { signalPid } from './backends/jail/process-identity.ts'
import { subjectOf } from './contract/contracts.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'
import { lineFrom, outcomeOf } from './contract/outcome.ts'
import { tappedBackend } from './contract/tapped-backend.ts'
import type { TappedBackend } from './contract/tapped-backend.ts'
import { processesOf } from './contract/traces.ts'
import { attachSandbox, launchSandbox } from './live-sandbox.ts'
import type { LiveOptions, LiveSandbox } from './live-sandbox.ts'

const found = (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')

for (const under of found) {
  describe.skipIf(under.skipReason !== null)(`a live sandbox on ${under.kind}${because(under)}`, () => {
    let laboratory: Laboratory
    let backend: TappedBackend
    const opened: LiveSandbox[] = []

    beforeEach(async () => {
      laboratory = await openLaboratory(subjectOf(under, (needs) => bubblewrapBackend(needs)))
      backend = tappedBackend(laboratory.backend)
    })
    afterEach(async () => {
      for (const live of opened.splice(0)) live.detach()
      for (const pid of guests()) signalPid(pid, 'SIGCONT')
      expect(await laboratory.close()).toEqual([])
    })

    const launch = async (options?: LiveOptions) => {
      const live = await launchSandbox(backend, laboratory.newName(), laboratory.spec(), undefined, undefined, options)
      opened.push(live)
      return live
    }
    const guests = () =>
      processesOf(basename(laboratory.directory))
        .filter(({ command }) => /guest serve /.test(command) && !/bwrap|launcher/.test(command))
        .map(({ pid }) => pid)

    test('a broken connection is made again, to the same guest', async () => {
      const live = await launch()
      const { inside, bootId } = live
      backend.cut()
      await inside.closed
      expect(live.isAlive).toBe(true)
      expect(await outcomeOf(() => live.inside.ping())).toBe('guest_unreachable')
      const next = await live.connected()
      expect(next).not.toBe(inside)
      expect(next.bootId).toBe(bootId)
      expect(live.inside).toBe(next)
      await next.ping()
      expect(live.health.reconnects).toBe(1)
    })

    test('who stops waiting for a connection leaves alone', async () => {
      const live = await launch()
      const { inside } = live
      const dialled = Promise.withResolvers<void>()
      backend.beforeDial = () => dialled.promise
      backend.cut()
      await inside.closed
      const leaving = new AbortController()
      const left = live.connected(leaving.signal)
      const stays = live.connected()
      leaving.abort(new HoldfastError('request_cancelled', 'the caller left'))
      expect(await outcomeOf(() => left)).toBe('request_cancelled')
      dialled.resolve()
      await (await stays).ping()
    })

    test('whoever hears first of the break waits for the next connection like all others', async () => {
      const live = await launch()
      const running = await live.inside.exec({ argv: ['/bin/sleep', '1000'] })
      const next = running.exit.then(
        () => null,
        () => live.connected(),
      )
      backend.cut()
      await (await next)?.ping()
      expect(live.health.reconnects).toBe(1)
    })

    test('a sandbox destroyed from outside is gone, and is not dialled for long', async () => {
      // The last attempt would take longer than any test.
      const live = await launch({ retryDelaysMs: [0, 20, 50, 100, 300, 600_000] })
      const running = await live.inside.exec({ argv: ['/bin/sleep', '1000'] })
      const exit = outcomeOf(() => running.exit)
      await laboratory.backend.destroy(live.name)
      expect(await live.gone).toMatchObject({ code: 'sandbox_gone' })
      expect(await exit).toBe('guest_unreachable')
      expect(live.isAlive).toBe(false)
      expect(await outcomeOf(() => live.connected())).toBe('sandbox_gone')
      expect(await outcomeOf(async () => live.inside)).toBe('sandbox_gone')
      expect(await live.check(Date.now())).toBe(false)
    })

    test('a sandbox that cannot be dialled is gone after the last attempt', async () => {
      const live = await launch({ retryDelaysMs: [0, 1, 1] })
      let dials = 0
      backend.beforeDial = () => {
        dials += 1
        return Promise.reject(new HoldfastError('guest_unreachable', 'not today'))
      }
      backend.cut()
      expect(await live.gone).toMatchObject({ code: 'sandbox_gone', cause: { message: 'not today' } })
      expect(dials).toBe(3)
    })

    test('connections that never last use up the attempts', async () => {
      const live = await launch({ retryDelaysMs: [0, 1, 1] })
      let cuts = 0
      for (; live.isAlive; cuts += 1) {
        const inside = await live.connected()
        backend.cut()
        await inside.closed
      }
      expect(cuts).toBe(4)
    })

    test('another guest in its place is not taken for it', async () => {
      const live = await launch()
      const { inside } = live
      const dialled = Promise.withResolvers<void>()
      backend.beforeDial = () => dialled.promise
      backend.cut()
      await inside.closed
      await laboratory.backend.destroy(live.name)
      await laboratory.backend.create(live.name, laboratory.spec())
      dialled.resolve()
      expect(await live.gone).toMatchObject({ code: 'sandbox_gone' })
    })

    test('what was heard lately counts, and only then is nothing asked', async () => {
      const live = await launch({ skipMs: 30_000 })
      expect(await live.check(Date.now())).toBe(true)
      expect(live.health).toMatchObject({ checks: 1, skipped: 1 })
      const later = Date.now() + 31_000
      expect(await Promise.all([live.check(later), live.check(later)])).toEqual([true, true])
      expect(live.health).toMatchObject({ checks: 3, skipped: 1, failures: 0 })
      // A clock that was set back proves nothing.
      expect(await live.check(Date.now() - 31_000)).toBe(true)
      expect(live.health).toMatchObject({ checks: 4, skipped: 1 })
    })

    test('a stopped guest fails the check, and is gone', async () => {
      let now = 1_000
      const live = await launch({ skipMs: 0, answerMs: 300, clock: () => now })
      expect(await live.check(now)).toBe(true)
      // Long enough for the connection to have proved itself.
      now += 60_000
      for (const pid of guests()) signalPid(pid, 'SIGSTOP')
      expect(await Promise.all([live.check(now), live.check(now)])).toEqual([false, false])
      expect(live.health).toMatchObject({ checks: 3, failures: 1 })
      expect(await live.gone).toMatchObject({ code: 'sandbox_gone' })
      expect(backend.connections).toHaveLength(2)
      await live.destroy()
      expect(await laboratory.backend.list()).toEqual([])
    })

    test('a guest that misses one ping and answers the next connection is healthy', async () => {
      const live = await launch({ skipMs: 0, answerMs: 300 })
      const [first] = backend.connections
      first?.pause()
      expect(await live.check(Date.now())).toBe(true)
      expect(live.health).toMatchObject({ failures: 1, reconnects: 1 })
    })

    test('detached, it runs on and is found again with what runs in it', async () => {
      const live = await launch()
      const ticking = await live.inside.exec({ argv: ['/bin/sh', '-c', 'echo begun; exec sleep 1000'], tag: 'ticking' })
      await lineFrom(ticking.output, (line) => line === 'begun')
      live.detach()
      expect(live.isAlive).toBe(false)
      expect(await outcomeOf(() => live.connected())).toBe('server_stopping')
      const again = await attachSandbox(laboratory.reopen(), live.name)
      opened.push(again)
      expect(again.bootId).toBe(live.bootId)
      expect(await again.inside.processes.list()).toMatchObject([{ tag: 'ticking', pid: ticking.pid, state: 'running' }])
    })

    test('what never was cannot be attached to', async () => {
      expect(await outcomeOf(() => attachSandbox(backend, laboratory.newName()))).toBe('sandbox_gone')
    })

    test('destroying twice is one removal, and ends a dialling', async () => {
      const live = await launch()
      const { inside } = live
      const dialled = Promise.withResolvers<void>()
      backend.beforeDial = () => dialled.promise
      backend.cut()
      await inside.closed
      const waiting = outcomeOf(() => live.connected())
      await Promise.all([live.destroy(), live.destroy()])
      dialled.resolve()
      expect(await waiting).toBe('sandbox_gone')
      expect(await live.gone).toMatchObject({ code: 'sandbox_gone' })
      expect(await laboratory.backend.list()).toEqual([])
    })
  })
}
