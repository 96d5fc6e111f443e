/** What is kept while nothing happens: the guest's memory, the server's, and the server's per sandbox. */
import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Inside } from '../../packages/server/src/guest/inside.ts'
import type { IdleSandboxes } from '../children/idle-sandboxes.ts'
import { runChild } from '../children/run-child.ts'
import { runInside } from '../command.ts'
import type { Measured } from '../figure.ts'
import type { Ground } from '../ground.ts'
import { idleServerBytes } from '../idle-server.ts'
import type { Measure } from '../measure.ts'
import { findProcess, initOf, residentBytes } from '../process-status.ts'
import { median, quantile } from '../statistics.ts'

const SETTLE_MS = 200

export const idle: Measure = {
  name: 'idle',
  doing: 'nothing, and what it costs',
  async run(ground) {
    return [await guestMemory(ground), await serverMemory(ground), await memoryPerSandbox(ground)]
  },
}

async function guestMemory(ground: Ground): Promise<Measured> {
  const samples: number[] = []
  while (samples.length < ground.pick({ full: 5, quick: 2 })) {
    samples.push(await ground.withSandbox(({ inside }) => idleGuestBytes(inside)))
  }
  return {
    id: 'idle-guest',
    title: 'idle guest, resident memory',
    value: median(samples) / 1_000_000,
    unit: 'MB',
    samples: samples.length,
    reference: null,
    bar: { of: 'value', at: 'most', limit: 1 },
  }
}

/** A sleep with an argument of its own shows which process of the host the guest is. */
async function idleGuestBytes(inside: Inside): Promise<number> {
  const marker = `86400.${randomInt(2 ** 40)}`
  const sleeping = await inside.exec({ argv: ['sleep', marker], ephemeral: true })
  const guest = initOf(findProcess(marker))
  await sleeping.kill()
  sleeping.detach()
  await runInside(inside, ['sh', '-c', 'true'])
  await delay(SETTLE_MS)
  return residentBytes(guest)
}

async function serverMemory(ground: Ground): Promise<Measured> {
  const samples: number[] = []
  while (samples.length < ground.pick({ full: 3, quick: 1 })) samples.push(await idleServerBytes(ground.place))
  return {
    id: 'idle-server',
    title: 'idle server, resident memory',
    value: quantile(samples, 1) / 1_000_000,
    unit: 'MB',
    samples: samples.length,
    reference: null,
    bar: { of: 'value', at: 'most', limit: 90 },
  }
}

async function memoryPerSandbox(ground: Ground): Promise<Measured> {
  const count = ground.pick({ full: 20, quick: 8 })
  const work = { ...ground.place, count }
  const { bytesPerSandbox } = await runChild<IdleSandboxes>('idle-sandboxes.ts', work, { nodeFlags: ['--expose-gc'] })
  return {
    id: 'idle-sandbox',
    title: 'server memory per idle sandbox',
    value: bytesPerSandbox / 1_000,
    unit: 'kB',
    samples: count,
    reference: null,
    bar: { of: 'value', at: 'most', limit: 50 },
  }
}
