/**
 * Isolation, counts: the kernel gives each user, or the machine, a number of some things; one sandbox that takes all it can get leaves its
 * neighbour some.
 */
import { expect } from 'vitest'
import type { Inside } from '../../../guest/inside.ts'
import { lineFrom } from '../outcome.ts'
import { NotHere } from '../subject.ts'
import type { Proofs } from '../subject.ts'
import { ATTACK, holds } from './attack-program.ts'
import type { Ground } from './ground.ts'

/** What is taken, as the attack program names it. */
export const COUNTED = {
  'all inotify instances of a user': 'inotify',
  'all message queues of a user': 'queues',
  'all descriptors in flight of a user': 'flight',
  'all pipe pages of a user': 'pipes',
  'all terminals of the machine': 'terminals',
} as const

/** What only users of their own keep apart, and why. */
const PER_USER: ReadonlySet<string> = new Set(['flight', 'pipes'])
export function problemWithoutUsers(kind: string): string | undefined {
  return PER_USER.has(kind)
    ? 'the kernel counts them for the user and has no bound for a part; the sandboxes have the user of the server'
    : undefined
}

/** The taker takes all it can get and keeps it; the neighbour still gets one. */
export async function leavesSome(taker: Inside, neighbour: Inside, kind: string): Promise<void> {
  const execution = await taker.exec({ argv: [ATTACK, 'take-all', kind] })
  expect(await lineFrom(execution.output, () => true)).toMatch(/^held: full: [1-9]/)
  await holds(neighbour, 'take-one', kind)
  expect(await taker.processes.kill({ id: execution.id })).toMatchObject({ verified: true })
}

async function betweenTwo({ laboratory, fresh }: Ground, kind: string): Promise<void> {
  const wishOfOwnUsers = () => {
    const users = laboratory.newUsers()
    const problem = users === undefined ? problemWithoutUsers(kind) : undefined
    if (problem !== undefined) throw new NotHere(problem)
    return users === undefined ? {} : { users }
  }
  await fresh(wishOfOwnUsers(), async ({ inside: taker }) => {
    await fresh(wishOfOwnUsers(), async ({ inside: neighbour }) => leavesSome(taker, neighbour, kind))
  })
}

export const COUNTS: Proofs<Ground> = Object.fromEntries(
  Object.entries(COUNTED).map(([name, kind]) => [name, (ground: Ground) => betweenTwo(ground, kind)]),
)
