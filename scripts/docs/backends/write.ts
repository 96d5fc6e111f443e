/** Writes the generated part of `docs/backends.md` anew: `node scripts/docs/backends/write.ts`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { withPart } from '../generated-part.ts'
import { backendsPart } from './page.ts'

const path = fileURLToPath(new URL('../../../docs/backends.md', import.meta.url))
writeFileSync(path, withPart(readFileSync(path, 'utf8'), 'probes', await backendsPart()))
