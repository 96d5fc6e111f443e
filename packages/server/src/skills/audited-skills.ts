/**
 * A tenant's skills for somebody who is known: every change is in the tenant's audit, by name and never by content.
 *
 * Stands beside the flow.
 */
import { isHoldfastError } from '@holdfast/protocol'
import type { AuditRecord } from '../sessions/audit/audit-record.ts'
import { appendTenantAudit } from '../sessions/audit/tenant-audit.ts'
import type { Store } from '../store/store.ts'
import type { Skill } from './skill.ts'
import type { SkillStore } from './skill-store.ts'

export interface AuditedSkillsNeeds {
  readonly skills: SkillStore
  readonly store: Store
  readonly clock: () => number
  readonly tenantId: string
  /** Who does it. */
  readonly by: Pick<AuditRecord, 'actor' | 'onBehalfOf' | 'requestId' | 'sessionId'>
}

/** The same store, with its changes written down: what was done, and what was refused. */
export function auditedSkills({ skills, store, clock, tenantId, by }: AuditedSkillsNeeds): SkillStore {
  async function write(action: string, names: readonly string[], outcome: Pick<AuditRecord, 'outcome' | 'errorCode'>): Promise<void> {
    await store.write(async (transaction) => {
      for (const id of names)
        await appendTenantAudit(
          transaction,
          tenantId,
          { ...by, action, resource: { type: 'skill', id }, decision: 'allow', ...outcome },
          clock(),
        )
    })
  }

  /** `wanted` stands in the record of a failure, where nothing is there to be named. */
  async function audited<T>(action: string, wanted: string, change: () => Promise<T>, namesOf: (done: T) => readonly string[]): Promise<T> {
    let done: T
    try {
      done = await change()
    } catch (error) {
      await write(action, [wanted.slice(0, 64)], { outcome: 'failure', ...(isHoldfastError(error) ? { errorCode: error.code } : {}) })
      throw error
    }
    await write(action, namesOf(done), { outcome: 'success' })
    return done
  }

  const one = (action: string, name: string, change: () => Promise<Skill>) => audited(action, name, change, (skill) => [skill.name])
  return {
    ...skills,
    create: (input) => one('skill.create', input.name, () => skills.create(input)),
    update: (name, input) => one('skill.update', name, () => skills.update(name, input)),
    adopt: (name, entries, fields) => one('skill.adopt', name, () => skills.adopt(name, entries, fields)),
    remove: (name) =>
      audited(
        'skill.remove',
        name,
        () => skills.remove(name),
        () => [name],
      ),
    writeFile: (name, path, content) =>
      audited(
        'skill.write-file',
        name,
        () => skills.writeFile(name, path, content),
        () => [name],
      ),
    installZip: (source, wish) =>
      audited(
        'skill.install',
        wish.filename,
        () => skills.installZip(source, wish),
        (installed) => installed.map(({ name }) => name),
      ),
  }
}
