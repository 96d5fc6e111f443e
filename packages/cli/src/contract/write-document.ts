/**
 * Brings docs/cli.md up to date: `node packages/cli/src/contract/write-document.ts`.
 */
import { writeFileSync } from 'node:fs'
import { createProgram } from '../program.ts'
import { DOCUMENT, readDocument, withOutputs, withVerbs } from './document.ts'
import { lineRunner } from './line-runner.ts'
import { realServer, removeServer } from './real-server.ts'

const server = await realServer({ HOLDFAST_BACKEND: 'bubblewrap' })
const lines = lineRunner(server)
try {
  writeFileSync(DOCUMENT, await withOutputs(withVerbs(readDocument(), createProgram()), lines.run))
} finally {
  lines.end()
  await removeServer(server)
}
