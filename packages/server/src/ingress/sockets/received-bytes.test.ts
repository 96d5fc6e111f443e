/** What a socket has received and nobody has taken counts, over a real connection. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { workBudget } from '../pipeline/work-budget.ts'
import { backlogs } from './backlog.ts'
import { countReceived } from './received-bytes.ts'

const MIB = 1024 * 1024

async function open(perCaller: number) {
  const streams = { perCaller: 9, perTenant: 9, total: 9 }
  const budget = workBudget({ bytes: { perCaller, perTenant: 64 * MIB, total: 64 * MIB }, streams })
  const read = Promise.withResolvers<void>()
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, connection, head) =>
    sockets.handleUpgrade(request, connection, head, (socket) => {
      const [typing] = backlogs(socket)
      socket.on('message', (data: Buffer) => typing.add(data.length, () => read.promise))
      countReceived(socket, connection, () => budget.begin({ tenant: 'a', caller: 'b', key: 'b' }))
    }),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await once(client, 'open')
  return {
    ...{ budget, client, read },
    async [Symbol.asyncDispose]() {
      client.terminate()
      await expect.poll(() => budget.inFlight.bytes).toBe(0)
      server.close()
    },
  }
}

test('counts a message until it is complete, and then for as long as its program does not read', async () => {
  await using opened = await open(8 * MIB)
  const { budget, client, read } = opened
  client.send(Buffer.alloc(MIB), { fin: false })
  await expect.poll(() => budget.inFlight.bytes).toBeGreaterThan(0.8 * MIB)
  client.send(Buffer.alloc(10), { fin: true })
  await expect.poll(() => budget.inFlight.bytes).toBeGreaterThan(0.8 * MIB)
  read.resolve()
  await expect.poll(() => budget.inFlight.bytes).toBe(0)
})

test('closes a socket that there is no room for, and takes small messages of everybody', async () => {
  await using opened = await open(MIB)
  opened.read.resolve()
  for (let sent = 0; sent < 100; sent += 1) opened.client.send(Buffer.alloc(10_000))
  opened.client.send(Buffer.alloc(4 * MIB), { fin: false })
  expect((await once(opened.client, 'close'))[0]).toBe(1013)
})
