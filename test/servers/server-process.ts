/**
 * A server in a process of its own, to be spoken to over its standard streams and to be killed.
 *
 * One JSON plan comes as its argument. Then one JSON request a line on stdin, and one JSON answer a line on stdout, in any
 * order. It never ends by itself.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { isHoldfastError } from '@holdfast/protocol'
import { personOf } from './person.ts'
import { openTestServer } from './test-server.ts'
import type { ServerPlan, TestServer } from './test-server.ts'

export type Order =
  | { readonly do: 'sh'; readonly key: string; readonly script: string }
  | { readonly do: 'start'; readonly key: string; readonly script: string }
  | { readonly do: 'get'; readonly key: string }
  | { readonly do: 'sweep' }
  | { readonly do: 'pass'; readonly ms: number }

export type Answer = { readonly number: number } & ({ readonly value: unknown } | { readonly problem: unknown })

function say(message: unknown): void {
  writeSync(1, `${JSON.stringify(message)}\n`)
}

let passedMs = 0

async function obey(server: TestServer, order: Order): Promise<unknown> {
  const alice = await personOf(server)
  switch (order.do) {
    case 'sh':
      return alice.sh(order.key, order.script)
    case 'start':
      return alice.start(order.key, order.script)
    case 'get':
      return alice.get(order.key)
    case 'sweep':
      return (await server.sessions.sweep()) ?? null
    case 'pass':
      passedMs += order.ms
      return null
  }
}

async function answer(server: TestServer, number: number, order: Order): Promise<Answer> {
  try {
    return { number, value: await obey(server, order) }
  } catch (error) {
    return { number, problem: isHoldfastError(error) ? error.toProblem() : String(error) }
  }
}

const [plan] = process.argv.slice(2)
if (plan === undefined) throw new Error('the plan is missing')
const read: ServerPlan & { readonly passedMs: number } = JSON.parse(plan)
passedMs = read.passedMs
const server = await openTestServer(read, () => Date.now() + passedMs)
say({ number: 0, value: { serverId: server.home.serverId, orphansDestroyed: server.orphansDestroyed, recovered: server.plane.recovered } })
for await (const line of createInterface(process.stdin)) {
  const { number, ...order }: { readonly number: number } & Order = JSON.parse(line)
  void answer(server, number, order).then(say)
}
