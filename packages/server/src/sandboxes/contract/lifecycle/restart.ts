/**
 * Lifecycle, restart: what runs is found again by name, and only by the server that made it.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { basename } from 'node:path'
import { expect } from 'vitest'
import type { Laboratory } from '../laboratory.ts'
import { lineFrom, outcomeOf, shell } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { processesOf } from '../traces.ts'

/** The first process of the laboratory's one sandbox, as the host sees it: the guest that has no guest as parent. */
function guestOnHost(laboratory: Laboratory): number {
  const marker = basename(laboratory.directory)
  const guests = processesOf(marker).filter(({ command }) => /guest serve /.test(command) && !/bwrap|nsjail|launcher/.test(command))
  // Its children look just like it until they have become something else.
  const first = guests.find(({ parentPid }) => guests.every(({ pid }) => pid !== parentPid))
  if (first === undefined) throw new Error(`no guest runs among ${JSON.stringify(processesOf(marker))}`)
  return first.pid
}

export const RESTART: Proofs<Laboratory> = {
  'a restarted server attaches by name and finds what runs': async (laboratory) => {
    const { inside, name } = await laboratory.create()
    const ticking = await inside.exec({ argv: ['/bin/sh', '-c', 'echo begun; sleep 1000'], tag: 'ticking' })
    await lineFrom(ticking.output, (line) => line === 'begun')
    inside.close()
    const restarted = laboratory.reopen()
    expect(await restarted.list()).toEqual([{ name, running: true }])
    const again = await laboratory.enter(await restarted.attach(name))
    expect(again.bootId).toBe(inside.bootId)
    expect(await again.processes.list()).toMatchObject([{ tag: 'ticking', pid: ticking.pid, state: 'running' }])
    const execution = await again.processes.attach({ tag: 'ticking' })
    expect(execution.skippedBytes).toBe(0)
    expect(await lineFrom(execution.output, () => true)).toBe('begun')
    expect(await again.processes.kill({ tag: 'ticking' })).toMatchObject({ verified: true })
  },

  'attaching to what never was says that it is gone': async (laboratory) => {
    expect(await outcomeOf(() => laboratory.backend.attach(laboratory.newName()))).toBe('sandbox_gone')
  },

  'another server sees, attaches and destroys nothing of ours': async (laboratory) => {
    const { inside, name } = await laboratory.create()
    const stranger = laboratory.stranger()
    expect(await stranger.list()).toEqual([])
    expect(await outcomeOf(() => stranger.attach(name))).toBe('sandbox_gone')
    await stranger.destroy(name)
    const theirs = laboratory.newName()
    await stranger.create(theirs, laboratory.spec())
    expect(await laboratory.backend.list()).toEqual([{ name, running: true }])
    expect(await stranger.list()).toEqual([{ name: theirs, running: true }])
    await stranger.destroy(theirs)
    expect(await stranger.list()).toEqual([])
    await inside.ping()
  },

  'two servers may use the same sandbox name': async (laboratory) => {
    const { inside, name } = await laboratory.create()
    const stranger = laboratory.stranger()
    const theirs = await laboratory.enter(await stranger.create(name, laboratory.spec()))
    expect(theirs.bootId).not.toBe(inside.bootId)
    await stranger.destroy(name)
    expect(await shell(inside, 'echo untouched')).toBe('untouched')
  },

  'a sandbox that died is noticed, reported and can be destroyed': async (laboratory) => {
    const { inside, name } = await laboratory.create()
    const running = await inside.exec({ argv: ['sleep', '1000'] })
    const lost = running.exit.catch((error: unknown) => error)
    process.kill(guestOnHost(laboratory), 'SIGKILL')
    expect(await inside.closed).toBeInstanceOf(Error)
    expect(await lost).toMatchObject({ code: 'guest_unreachable' })
    await expect.poll(() => laboratory.backend.list()).toEqual([{ name, running: false }])
    expect(await outcomeOf(() => laboratory.backend.attach(name))).toBe('sandbox_gone')
    await laboratory.backend.destroy(name)
    expect(await laboratory.backend.list()).toEqual([])
    expect(await laboratory.traces()).toEqual([])
  },
}
