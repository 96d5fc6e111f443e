/**
 * Store contract, crashes: a killed process leaves whole transactions only, and all that it was told were kept.
 *
 * Stands beside the flow.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import type { Sql } from '../store.ts'
import type { Ground, Proofs } from './subject.ts'

const WRITER = join(import.meta.dirname, 'crashing-writer.ts')
const ROUNDS = 3
const ACKNOWLEDGED_BEFORE_KILL = 150

export const CRASHES: Proofs = {
  'a writer killed at any moment leaves whole transactions, and every acknowledged one': async (ground) => {
    const { store } = ground
    await store.write(async (transaction) => {
      await transaction.run('CREATE TABLE lefts (id BIGINT PRIMARY KEY)')
      await transaction.run('CREATE TABLE rights (id BIGINT PRIMARY KEY)')
    })
    const acknowledged: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      // Ids of its own: what a killed writer had sent last may still be on its way to a server.
      acknowledged.push(...(await writeUntilKilled(ground, round * 1_000_000)))
      const [lefts, rights] = await store.read(async (sql) => [await idsIn(sql, 'lefts'), await idsIn(sql, 'rights')])
      expect(rights).toEqual(lefts)
      expect(acknowledged.filter((id) => !lefts?.includes(id))).toEqual([])
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS * ACKNOWLEDGED_BEFORE_KILL)
  },
}

/** Gives the ids that the writer had said were kept. */
async function writeUntilKilled({ dialect, address }: Ground, firstId: number): Promise<readonly number[]> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', WRITER, dialect, address, String(firstId)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const acknowledged: number[] = []
  for await (const line of createInterface(child.stdout)) {
    acknowledged.push(Number(line))
    if (acknowledged.length === ACKNOWLEDGED_BEFORE_KILL) child.kill('SIGKILL')
  }
  expect(await exited).toEqual([null, 'SIGKILL'])
  return acknowledged
}

async function idsIn(sql: Sql, table: string): Promise<readonly number[]> {
  return (await sql.all(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => Number(id))
}
