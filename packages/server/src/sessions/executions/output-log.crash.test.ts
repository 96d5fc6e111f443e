/** A server that is killed at any instruction leaves a log that goes on where its last written record ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { reopenOutputLog } from './output-log.ts'

/** Prints the sequence number of what is surely written, for ever; byte n of the output is n modulo 251. */
const VICTIM = `
  const { createOutputLog } = await import(process.argv[1])
  const log = createOutputLog({ directory: process.argv[2], id: 'exe_1', startTime: 0, clock: Date.now })
  const length = Number(process.argv[3])
  for (;;) {
    for (let count = 0; count < 5; count += 1) {
      const bytes = Buffer.from(Array.from({ length }, (_, at) => (log.seq + at) % 251))
      log.append({ channel: 'stdout', bytes, seq: log.seq + length })
    }
    const { seq } = await log.read(log.seq)
    console.log(seq)
  }
`

test.each([
  [10, 2_000],
  [1_500, 40],
  [60_000, 20],
])('of chunks of %i bytes nothing that was written is lost or torn after kill -9', async (length, lines) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-killed-'))
  const module = new URL('output-log.ts', import.meta.url).href
  const victim = spawn(process.execPath, ['--input-type=module', '--eval', VICTIM, '--', module, directory, String(length)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let written = 0
  let seen = 0
  for await (const line of createInterface(victim.stdout)) {
    written = Number(line)
    seen += 1
    if (seen === lines) victim.kill('SIGKILL')
  }
  if (victim.exitCode === null && victim.signalCode === null) await once(victim, 'exit')
  expect(seen).toBeGreaterThanOrEqual(lines)

  const log = await reopenOutputLog({ directory, id: 'exe_1', startTime: 0, clock: Date.now })
  expect(log.seq).toBeGreaterThanOrEqual(written)
  const { chunks, skippedBytes, seq } = await log.read(0)
  expect(seq).toBe(log.seq)
  let at = skippedBytes
  for (const { bytes, seq: end } of chunks) {
    expect(end - bytes.length).toBe(at)
    expect(bytes.every((byte, index) => byte === (at + index) % 251)).toBe(true)
    at = end
  }
  expect(at).toBe(log.seq)
  await log.remove()
  rmSync(directory, { recursive: true })
})
