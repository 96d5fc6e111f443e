/**
 * The skills of all tenants of this server: one store each, made when it is asked for.
 *
 * Stands beside the flow.
 */
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { removeTree } from '../home/remove-tree.ts'
import type { Log } from '../telemetry/log.ts'
import { createSkillStore, sweepSkills } from './skill-store.ts'
import type { SkillStore } from './skill-store.ts'
import { MAXIMUM_ARCHIVE_BYTES } from './unpack-zip.ts'

export interface Skills {
  /** `tenantKey` is a name that the server made. The same store each time, so that its operations never overlap. */
  forTenant(tenantKey: string): SkillStore
  /** Where an archive waits until all of it has come. */
  readonly uploads: { readonly directory: string; readonly limitBytes: number }
  /** Removes what a crash left half made. To be called once, before anything else. */
  sweep(): Promise<void>
}

export interface SkillsNeeds {
  /** Holds `tenants/<key>`. */
  readonly directory: string
  readonly clock: () => number
  readonly log: Log
  /** Told after each change, with the tenant's directory. */
  readonly onChange?: (directory: string) => void
}

const TENANT_KEY = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/

export function createSkills({ directory, clock, log, onChange = () => undefined }: SkillsNeeds): Skills {
  const tenants = join(directory, 'tenants')
  const uploads = { directory: join(directory, 'uploads'), limitBytes: MAXIMUM_ARCHIVE_BYTES }
  const stores = new Map<string, SkillStore>()
  return {
    uploads,
    forTenant(tenantKey) {
      if (!TENANT_KEY.test(tenantKey)) throw new HoldfastError('internal', 'the key of a tenant is not what the server makes')
      const known = stores.get(tenantKey)
      if (known !== undefined) return known
      const own = join(tenants, tenantKey)
      const store = createSkillStore({ directory: own, clock, log, onChange: () => onChange(own) })
      stores.set(tenantKey, store)
      return store
    },
    async sweep() {
      await removeTree(uploads.directory)
      for (const made of [tenants, uploads.directory]) await mkdir(made, { recursive: true, mode: 0o700 })
      for (const entry of await readdir(tenants, { withFileTypes: true }))
        if (entry.isDirectory()) await sweepSkills(join(tenants, entry.name))
    },
  }
}
