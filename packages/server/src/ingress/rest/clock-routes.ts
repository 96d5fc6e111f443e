/**
 * `/v1/clock`: the server's clock, and a jump of the wall clock that waits for a confirmation.
 */
import { ClockView } from '@holdfast/protocol'
import type { SteadyClock } from '../../home/steady-clock.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export interface ClockNeeds {
  readonly steadyClock: Pick<SteadyClock, 'now' | 'wall' | 'jump' | 'confirm'>
}

export function clockRoutes({ steadyClock }: ClockNeeds): readonly Route[] {
  const view = (): ClockView => {
    const jump = steadyClock.jump()
    return {
      time: iso(steadyClock.now()),
      wall_time: iso(steadyClock.wall()),
      jump: jump === null ? null : { by_seconds: Math.round(jump.byMs / 1000), followed_at: iso(jump.followedAt) },
    }
  }
  return [
    route({
      method: 'GET',
      path: '/v1/clock',
      summary: 'See the clock that deadlines are compared with, and a jump that waits for a confirmation',
      authorization: 'manage-tenants',
      answers: { 200: json('Clock', ClockView, 'The clock of the server that answers') },
      errors: ['forbidden'],
      handle: async () => ({ status: 200, body: view() }),
    }),
    route({
      method: 'POST',
      path: '/v1/clock/confirm',
      summary: 'Follow a jump of the wall clock now: what is due by the new time expires',
      authorization: 'manage-tenants',
      answers: { 200: json('Clock', ClockView, 'The clock, which follows the wall clock again') },
      errors: ['forbidden'],
      isRepeatable: true,
      async handle() {
        steadyClock.confirm()
        return { status: 200, body: view() }
      },
    }),
  ]
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
