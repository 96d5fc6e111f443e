/**
 * Isolation, guest: nobody speaks to it, for it or through it, and nobody leaves its trees.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { expect } from 'vitest'
import type { Execution, ExecRequest } from '../../../guest/inside.ts'
import type { Inhabited } from '../laboratory.ts'
import { lineFrom } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { processesOf } from '../traces.ts'
import { ATTACK, holds, runsCommands } from './attack-program.ts'
import type { Ground } from './ground.ts'

const GUEST_SOCKETS = ['/.holdfast/run/guest.sock', '/.holdfast/guest.sock', '/run/guest.sock']

/** Starts an escape and returns once it is complete, with the marker that all its processes carry. */
async function begin(
  { inside }: Inhabited,
  name: string,
  values: readonly string[] = [],
  options: Partial<ExecRequest> = {},
): Promise<{ execution: Execution; marker: string }> {
  const marker = `escape-${crypto.randomUUID()}`
  const execution = await inside.exec({ argv: [ATTACK, name, marker, ...values], ...options })
  await lineFrom(execution.output, (line) => line.startsWith('held: '))
  return { execution, marker }
}

/** On the host every process of every sandbox is visible, whatever it did inside. */
function expectGone(marker: string): void {
  expect(processesOf(marker)).toEqual([])
}

function dyingWithKill(name: string, ...values: readonly string[]): (ground: Ground) => Promise<void> {
  return async ({ attacked }) => {
    const { execution, marker } = await begin(attacked, name, values)
    expect(processesOf(marker)).not.toEqual([])
    expect(await attacked.inside.processes.kill({ id: execution.id })).toMatchObject({ verified: true })
    expectGone(marker)
    await runsCommands(attacked.inside)
  }
}

export const GUEST: Proofs<Ground> = {
  'find a socket that answers, in the file system or by its abstract name': async ({ attacked }) => {
    await holds(attacked.inside, 'find-sockets')
  },

  'connect to the guest where its socket is or may be': async ({ attacked }) => {
    for (const path of GUEST_SOCKETS) await holds(attacked.inside, 'connect-unix', path)
  },

  'take the place of the guest': async ({ attacked, laboratory }) => {
    // With one user only, or as root, /run is that user's; a socket made there is nobody's way to the guest, as the new connection shows.
    const isRunOpen = !laboratory.capabilities.severalUsers || laboratory.spec().user === 'root'
    const places = isRunOpen ? GUEST_SOCKETS.slice(0, -1) : GUEST_SOCKETS
    for (const path of places) await holds(attacked.inside, 'take-place', path)
    await holds(attacked.inside, 'take-place', '/.holdfast/guest')
    const again = await laboratory.enter(attacked.sandbox)
    expect(again.bootId).toBe(attacked.inside.bootId)
    again.close()
  },

  'connect to the guest of a neighbour': async ({ attacked, neighbour, laboratory }) => {
    for (const directory of ['run', laboratory.subject.kind]) {
      const path = `${laboratory.needs.stateDir}/sandboxes/${neighbour.name}/${directory}/guest.sock`
      await holds(attacked.inside, 'connect-unix', path)
      const link = `/workspace/${crypto.randomUUID()}`
      await holds(attacked.inside, 'plant-symlink', path, link)
      await holds(attacked.inside, 'connect-unix', link)
    }
  },

  'use a descriptor that was left open': async ({ attacked }) => {
    await holds(attacked.inside, 'use-descriptors')
    const terminal = await attacked.inside.pty({ argv: [ATTACK, 'use-descriptors'], size: { cols: 80, rows: 24 } })
    expect(await lineFrom(terminal.output, () => true)).toMatch(/^held: /)
  },

  'escape kill by a session of its own, a double fork, another group and deaf ears': dyingWithKill('escape', 'stay'),
  'escape kill as a sibling of the main process': dyingWithKill('escape-as-sibling'),
  'escape kill by adopting its own orphans': dyingWithKill('escape-with-family'),
  'escape kill by never staying the same process': dyingWithKill('breed'),

  'escape kill by outliving the main process': async ({ attacked }) => {
    const { execution, marker } = await begin(attacked, 'escape', ['leave'])
    const stateOf = async (): Promise<string | undefined> =>
      (await attacked.inside.processes.list()).find(({ id }) => id === execution.id)?.state
    await expect.poll(stateOf).toBe('lingering')
    expect(await attacked.inside.processes.kill({ id: execution.id })).toMatchObject({ verified: true })
    expectGone(marker)
  },

  'escape the timeout': async ({ attacked }) => {
    const marker = `escape-${crypto.randomUUID()}`
    const execution = await attacked.inside.exec({ argv: [ATTACK, 'escape', marker, 'stay'], timeoutMs: 500 })
    let said = ''
    const exit = await execution.drain(({ bytes }) => {
      said += bytes.toString()
    })
    expect(said).toBe('held: out\n')
    expect(exit).toMatchObject({ timedOut: true })
    await expect.poll(() => processesOf(marker)).toEqual([])
  },

  'escape the end of the connection': async ({ attacked, laboratory }) => {
    const second = await laboratory.enter(attacked.sandbox)
    const { marker } = await begin({ ...attacked, inside: second }, 'escape', ['stay'], { ephemeral: true })
    second.close()
    await expect.poll(() => processesOf(marker)).toEqual([])
  },

  'kill the supervisor and live on unsupervised': async ({ attacked }) => {
    const marker = `escape-${crypto.randomUUID()}`
    const execution = await attacked.inside.exec({ argv: [ATTACK, 'kill-supervisors', marker] })
    // Where commands have the user of their supervisor, the guest ends the program before it can report.
    await lineFrom(execution.output, (line) => line.startsWith('held: ')).catch(() => undefined)
    await attacked.inside.processes.kill({ id: execution.id }).catch(() => undefined)
    await expect.poll(() => processesOf(marker)).toEqual([])
    await runsCommands(attacked.inside)
  },
}
