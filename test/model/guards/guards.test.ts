/** The list of guards belongs to the code: a guard that was reworded or moved is to be found here, not an hour into the long run. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LIFECYCLE_GUARDS } from './lifecycle-guards.ts'
import { SERVICE_GUARDS } from './service-guards.ts'
import { TABLE_GUARDS } from './table-guards.ts'

const SOURCES = join(import.meta.dirname, '../../../packages/server/src')

test('every guard that the long run takes out is in its file exactly once', () => {
  const guards = [...LIFECYCLE_GUARDS, ...SERVICE_GUARDS, ...TABLE_GUARDS]
  const stale = guards.filter(({ file, text }) => readFileSync(join(SOURCES, file), 'utf8').split(text).length !== 2)
  expect(stale).toEqual([])
})
