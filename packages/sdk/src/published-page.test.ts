/** What is published stands alone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withoutRepositoryLinks } from '../scripts/build.mjs'

test('the published page links to nothing of the repository', () => {
  const page = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  expect(page).toContain('](../../docs/preview.md)')
  expect(withoutRepositoryLinks(page)).not.toContain('](..')
  expect(withoutRepositoryLinks(page)).toContain('`docs/preview.md`')
})
