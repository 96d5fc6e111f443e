/** A program waits for its readers, and for nobody else. */
import { describe, expect, test } from 'vitest'
import type { OutputChunk } from '../../guest/inside.ts'
import { ReaderHold } from './reader-hold.ts'

const CHUNK_BYTES = 65_536

/** Prints until it has to wait, and gives the number of bytes printed by then. */
function printer(hold: ReaderHold, chunkBytes = CHUNK_BYTES) {
  let seq = 0
  return async function print(mostChunks = 1_000): Promise<{ readonly seq: number; readonly held: Promise<void> | undefined }> {
    for (let count = 0; count < mostChunks; count += 1) {
      seq += chunkBytes
      const chunk: OutputChunk = { channel: count % 2 === 0 ? 'stdout' : 'stderr', bytes: Buffer.alloc(chunkBytes), seq }
      const held = hold.take(chunk)
      if (held !== undefined) return { seq, held }
    }
    return { seq, held: undefined }
  }
}

describe('a program whose output is read', () => {
  test('waits before more than half of what is kept is unread', async () => {
    const { seq, held } = await printer(new ReaderHold(0))()
    expect(held).toBeDefined()
    expect(seq).toBeLessThanOrEqual(2 ** 19 + CHUNK_BYTES)
  })

  test('counts what small pieces cost in the files', async () => {
    const { seq } = await printer(new ReaderHold(0), 1)(2 ** 20)
    expect(seq).toBeLessThan(2 ** 18)
  })

  test('of an earlier server waits until a reader has what was printed then', async () => {
    const hold = new ReaderHold(1000)
    const held = hold.take({ channel: 'stdout', bytes: Buffer.alloc(1), seq: 1001 })
    const leave = hold.read(999)
    expect(hold.isWaiting).toBe(true)
    leave()
    hold.read(1000)
    await held
    expect(hold.isWaiting).toBe(false)
  })

  test('goes on when its reader asks for what comes next', async () => {
    const hold = new ReaderHold(0)
    const print = printer(hold)
    const leave = hold.read(0)
    const { seq, held } = await print()
    leave()
    hold.read(seq)
    await held
    expect((await print(1)).held).toBeUndefined()
  })

  test('goes on when its reader asks for the next part before the last part has left', async () => {
    const hold = new ReaderHold(0)
    const print = printer(hold)
    const leave = hold.read(0)
    const { seq, held } = await print()
    hold.read(seq)
    leave()
    await held
    expect(hold.isWaiting).toBe(false)
  })

  test('waits for the slowest of several readers', async () => {
    const hold = new ReaderHold(0)
    const print = printer(hold)
    hold.read(0)
    const { seq, held } = await print()
    const isOver = Promise.race([held?.then(() => true), Promise.resolve(false)])
    hold.read(seq)
    expect(await isOver).toBe(false)
  })

  test('runs on when nobody reads it for as long as it waits', async () => {
    const hold = new ReaderHold(0, 1)
    const print = printer(hold)
    const { held } = await print()
    await held
    expect((await print(100)).held).toBeUndefined()
    hold.read(0)
    expect((await print()).held).toBeDefined()
  })
})
