/**
 * Both kinds of deaths, at every step and at any moment, on one backend and one store: a suite that says why it is skipped.
 */
import { afterAll, beforeAll, describe } from 'vitest'
import type { BackendKind } from '../../../packages/server/src/sandboxes/backend.ts'
import { backendsUnderTest } from '../../environment/backends.ts'
import { postgresObstacle } from '../../environment/postgres.ts'
import { newPostgresDatabase } from '../../environment/shared-postgres.ts'
import type { PrivatePostgres } from '../../environment/postgres.ts'
import { crashMatrix } from './crash-matrix.ts'
import type { Matrix } from './crash-matrix.ts'
import { postgresDatabases, SQLITE_FILES } from './databases.ts'
import type { Databases } from './databases.ts'
import { randomKills } from './random-kills.ts'
import { buildVictim } from './victim-program.ts'
import type { VictimProgram } from './victim-program.ts'

export async function sessionsSurvive(kind: BackendKind, store: 'SQLite' | 'PostgreSQL', turns: Matrix['turns']): Promise<void> {
  const under = (await backendsUnderTest()).find((candidate) => candidate.kind === kind)
  if (under === undefined) throw new Error(`the test machine knows no backend named ${kind}`)
  const obstacle = under.skipReason ?? (store === 'SQLite' ? null : postgresObstacle())

  describe.skipIf(obstacle !== null)(`sessions on ${store} and ${kind}${obstacle === null ? '' : ` (skipped: ${obstacle})`}`, () => {
    let server: PrivatePostgres | null = null
    let databases: Databases = SQLITE_FILES
    let program: VictimProgram
    beforeAll(async () => {
      program = await buildVictim()
      if (store === 'SQLite') return
      server = await newPostgresDatabase()
      databases = await postgresDatabases(server)
    })
    afterAll(async () => {
      program.remove()
      await server?.stop()
    })
    const matrix = { under, databases: () => databases, victim: () => program.path, turns, isShared: store === 'PostgreSQL' }
    crashMatrix(matrix)
    randomKills(matrix)
  })
}
