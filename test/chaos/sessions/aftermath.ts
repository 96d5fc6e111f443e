/**
 * What the next life finds: questions to it, and the list of what is not as it must be.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_TENANT_ID } from '../../../packages/server/src/access/principal.ts'
import type { ExecutionRow } from '../../../packages/server/src/store/tables/executions.ts'
import { listExecutions } from '../../../packages/server/src/store/tables/executions.ts'
import type { SessionRow } from '../../../packages/server/src/store/tables/sessions.ts'
import { listSessions } from '../../../packages/server/src/store/tables/sessions.ts'
import type { Facts } from './operation.ts'
import type { ServerLife } from './server-life.ts'

const MANY = 10_000

export interface Aftermath {
  readonly life: ServerLife
  readonly facts: Facts
  /** Something is wrong. */
  problem(text: string): void
  /** A problem unless it is so. */
  expect(isSo: boolean, text: string): void
  fact(name: string): string | null
  sessions(): Promise<readonly SessionRow[]>
  /** The session that a fact names; `null` when that was not said, a problem when it is gone. */
  sessionOf(name: string): Promise<SessionRow | null>
  executions(sessionId: string): Promise<readonly ExecutionRow[]>
  executionOf(name: string): Promise<ExecutionRow | null>
  /** A file of the workspace; `null` when it is not there. */
  file(sessionId: string, name: string): Promise<string | null>
}

export function aftermathOf(life: ServerLife, facts: Facts, problems: string[]): Aftermath {
  const problem = (text: string) => void problems.push(text)
  const fact = (name: string) => (facts[name] === undefined ? null : String(facts[name]))
  const sessions = () =>
    life.store.read((sql) => listSessions(sql, { tenantId: DEFAULT_TENANT_ID, owner: null, groups: [] }, {}, null, MANY))
  const executions = (sessionId: string) => life.store.read((sql) => listExecutions(sql, DEFAULT_TENANT_ID, sessionId, null, MANY))
  return {
    life,
    facts,
    problem,
    expect(isSo, text) {
      if (!isSo) problem(text)
    },
    fact,
    sessions,
    async sessionOf(name) {
      const id = fact(name)
      if (id === null) return null
      const found = (await sessions()).find((session) => session.id === id) ?? null
      if (found === null) problem(`the acknowledged session of ${name} is gone`)
      return found
    },
    executions,
    async executionOf(name) {
      const id = fact(name)
      if (id === null) return null
      for (const { id: sessionId } of await sessions()) {
        const found = (await executions(sessionId)).find((execution) => execution.id === id)
        if (found !== undefined) return found
      }
      problem(`the acknowledged execution of ${name} is gone`)
      return null
    },
    async file(sessionId, name) {
      return readFile(join(life.home.workspacesDir, sessionId, 'files', name), 'utf8').catch(() => null)
    },
  }
}
