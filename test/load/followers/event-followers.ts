/**
 * Clients that follow events: many connections that read and count, in a process of their own so that they do not slow the measured one.
 *
 * Started by `run.ts` with `fork`. Receives one list of connections to open, then reports how many events came on each whenever it is asked.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

export interface FollowersPlan {
  readonly port: number
  readonly followers: readonly { readonly key: string; readonly path: string }[]
}

const AT_ONCE = 50

if (process.send !== undefined && process.argv[2] === 'follow') {
  const [plan]: FollowersPlan[] = await once(process, 'message')
  if (plan === undefined) throw new Error('there is no plan')
  const counts = plan.followers.map(() => 0)
  for (let start = 0; start < plan.followers.length; start += AT_ONCE)
    await Promise.all(
      plan.followers.slice(start, start + AT_ONCE).map((follower, index) => follow(plan.port, follower, counts, start + index)),
    )
  process.send({ event: 'open' })
  process.on('message', () => process.send?.({ event: 'counts', counts }))
}

/** Resolves when the stream has begun; counts the events that come on it. */
async function follow(port: number, { key, path }: FollowersPlan['followers'][number], counts: number[], index: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const begun = Promise.withResolvers<void>()
  let isBegun = false
  let rest = ''
  socket.setEncoding('latin1')
  socket.on('data', (data) => {
    const text = rest + String(data)
    rest = text.slice(-10)
    counts[index] = (counts[index] ?? 0) + (text.match(/\nevent: /g)?.length ?? 0) - (rest.match(/\nevent: /g)?.length ?? 0)
    if (isBegun) return
    isBegun = true
    if (text.startsWith('HTTP/1.1 200')) begun.resolve()
    else begun.reject(new Error(`a stream was refused: ${text.slice(0, 300)}`))
  })
  socket.on('error', begun.reject)
  socket.on('close', () => begun.reject(new Error('a stream was closed')))
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\naccept: text/event-stream\r\n\r\n`)
  await begun.promise
}
