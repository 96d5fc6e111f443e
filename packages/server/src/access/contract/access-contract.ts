/**
 * Binds one store to everything that access promises.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import { afterAll, beforeAll } from 'vitest'
import { migrate } from '../../store/migrate.ts'
import type { Store } from '../../store/store.ts'
import { createTenants } from '../tenants.ts'
import { authenticateContract } from './authenticate-contract.ts'
import { identityContract } from './identity-contract.ts'
import { keysContract } from './keys-contract.ts'
import { openLaboratory } from './laboratory.ts'
import { previewLinksContract } from './preview-links-contract.ts'
import { tenantsContract } from './tenants-contract.ts'

export function accessContract(name: string, open: () => Promise<Store>): void {
  let store: Store
  beforeAll(async () => {
    store = await open()
    await migrate(store)
    await createTenants({ store, clock: Date.now }).ensureDefaultTenant()
  })
  afterAll(() => store.close())

  const laboratory = () => openLaboratory(store)
  keysContract(name, laboratory)
  authenticateContract(name, laboratory)
  identityContract(name, laboratory)
  tenantsContract(name, laboratory)
  previewLinksContract(name, laboratory)
}
