/**
 * The typed client: every action of the Box protocol, with its time-out, its answer read, and its failures by class.
 *
 * Knows no connection: what carries the calls is a need.
 */
import { randomUUID } from 'node:crypto'
import { createAsk } from './ask.ts'
import { controlCalls } from './control-calls.ts'
import type { Call } from './rpc.ts'
import { sessionCalls } from './session-calls.ts'
import { skillCalls } from './skill-calls.ts'

export type BoxClient = Readonly<ReturnType<typeof controlCalls> & ReturnType<typeof sessionCalls> & ReturnType<typeof skillCalls>>

export function createBoxClient(call: Call, newId: () => string = randomUUID): BoxClient {
  const ask = createAsk(call)
  return { ...controlCalls(ask), ...sessionCalls(ask), ...skillCalls(ask, newId) }
}
