/** Writing to a server that is slow. */
import { describe, expect, test } from 'vitest'
import { outgoingTo } from './server-lines.ts'

const rules = { maximumBytes: 1_000, onDoubt: (error: unknown) => expect.fail(String(error)) }

function slowServer() {
  const written: string[] = []
  const turns: PromiseWithResolvers<void>[] = []
  const write = (pieces: readonly Uint8Array[]) => {
    written.push(Buffer.concat(pieces).toString())
    const turn = Promise.withResolvers<void>()
    turns.push(turn)
    return turn.promise
  }
  return { written, write, goOn: () => turns.shift()?.resolve() }
}

describe('what is written to a server', () => {
  test('comes in its order, and together where the server is slow', async () => {
    const server = slowServer()
    const outgoing = outgoingTo({ lines: server, ...rules })
    const sent = [outgoing.send('one'), outgoing.send('two'), outgoing.send('three')]
    server.goOn()
    await sent[0]
    await expect.poll(() => server.written).toEqual(['one\n', 'two\nthree\n'])
    server.goOn()
    await Promise.all(sent)
  })

  test('is not written any more when it was given up while it waited', async () => {
    const server = slowServer()
    const outgoing = outgoingTo({ lines: server, ...rules })
    const call = { isOver: false }
    const sent = [outgoing.send('one'), outgoing.send('left', call), outgoing.send('two')]
    call.isOver = true
    server.goOn()
    await sent[1]
    await expect.poll(() => server.written).toEqual(['one\n', 'two\n'])
    server.goOn()
    await Promise.all(sent)
  })

  test('is bounded where the server does not read', async () => {
    const outgoing = outgoingTo({ lines: slowServer(), ...rules })
    void outgoing.send('one')
    void outgoing.send('x'.repeat(900))
    await expect(outgoing.send('x'.repeat(900))).rejects.toMatchObject({ code: 'capacity_exhausted' })
  })
})
