/**
 * What numbered lines became on their way through a server that died: every byte at its place, or told as skipped.
 */
import { expectedBytes } from '../numbered-lines.ts'
import { untilPrinted } from './actions.ts'
import type { Aftermath } from './aftermath.ts'

/** Reads from the beginning and from somewhere in between, once so much was printed. */
export async function checkNumberedOutput(
  { life, expect }: Pick<Aftermath, 'life' | 'expect'>,
  sessionId: string,
  executionId: string,
  printedBytes: number,
): Promise<void> {
  await untilPrinted(life, sessionId, executionId, printedBytes)
  const output = await life.plane.sessions.commands.output(life.caller, sessionId, executionId)
  for (const first of [0, Math.floor(output.seq / 2)]) {
    const { chunks, skippedBytes, seq } = await output.read(first)
    let told = 0
    for (const chunk of chunks) {
      const from = chunk.seq - chunk.bytes.length
      const isRight = chunk.bytes.toString('latin1') === expectedBytes(from, chunk.bytes.length)
      expect(isRight, `wrong bytes from ${from} on, read after ${first}`)
      told += chunk.bytes.length
    }
    expect(first + skippedBytes + told === seq, `${first} + ${skippedBytes} skipped + ${told} read is not ${seq}`)
  }
}
