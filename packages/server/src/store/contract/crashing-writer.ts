/**
 * A program for the proofs: writes pairs of rows until it is killed, and says which ones were acknowledged.
 *
 * Stands beside the flow. Run as `node crashing-writer.ts <dialect> <address> <first id>`.
 */
import { openForContract } from './open-for-contract.ts'

const LANES = 8

const [dialect, address = '', firstId] = process.argv.slice(2)
const store = await openForContract(dialect === 'postgres' ? 'postgres' : 'sqlite', address)
let next = Number(firstId)

/** The halves go into different tables, so that a torn transaction would show. */
async function writePairs(): Promise<never> {
  for (;;) {
    const id = next++
    await store.write(
      async (transaction) => {
        await transaction.run('INSERT INTO lefts (id) VALUES (?)', id)
        await transaction.run('INSERT INTO rights (id) VALUES (?)', id)
      },
      id % 5 === 0 ? 'power' : 'process',
    )
    process.stdout.write(`${id}\n`)
  }
}

await Promise.all(Array.from({ length: LANES }, writePairs))
