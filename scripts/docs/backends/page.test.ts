/** The generated part of the page about backends is what the probes say today. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { partOf } from '../generated-part.ts'
import { backendsPart } from './page.ts'

test('docs/backends.md is current; `node scripts/docs/backends/write.ts` writes it anew', async () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'backends.md'), 'utf8')
  expect(partOf(page, 'probes')).toBe(await backendsPart())
})
