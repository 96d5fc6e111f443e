/**
 * Writes docs/openapi.json anew, after a change of a route: `node packages/server/src/ingress/rest/contract/write-document.ts`.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RELEASE } from '../../../release.ts'
import { openApiDocument } from '../openapi.ts'
import { tableForDocument } from './table-for-document.ts'

const file = join(import.meta.dirname, '../../../../../../docs/openapi.json')
writeFileSync(file, `${JSON.stringify(openApiDocument(tableForDocument(), RELEASE), null, 2)}\n`)
