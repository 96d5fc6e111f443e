/** SQLite keeps the store contract. What only SQLite can meet is in `sqlite-trouble.contract.test.ts`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeContract } from '../contract/store-contract.ts'

storeContract({
  dialect: 'sqlite',
  async makeDatabase() {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-store-'))
    const address = join(directory, 'test.db')
    return {
      address,
      fingerprint: async () => readFileSync(address).toString('base64'),
      remove: async () => rmSync(directory, { recursive: true, force: true }),
    }
  },
})
