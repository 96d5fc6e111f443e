/**
 * `npm run test:long -- not-root`: both contracts of bubblewrap under a server that is not root, once with subordinate ids and once without.
 *
 * The account exists for the run only (`plain-account.ts`). Needs root, and a repository that every account can read.
 */
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ACCOUNT, spawnAsAccount } from '../servers/plain-account.ts'

const ROOT = join(import.meta.dirname, '../..')
const VITEST = [
  join(ROOT, 'node_modules/vitest/vitest.mjs'),
  'run',
  '--root',
  ROOT,
  '--configLoader=native',
  '--reporter=default',
  'bubblewrap.contract',
]

async function runContracts(hasSubordinateIds: boolean): Promise<boolean> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-account-')))
  const own = join(directory, 'own')
  try {
    mkdirSync(own)
    chmodSync(directory, 0o755)
    chownSync(own, ACCOUNT.uid, ACCOUNT.uid)
    const environment = { HOME: own, TMPDIR: own, NO_COLOR: '1' }
    const child = spawnAsAccount([process.execPath, ...VITEST], { directory, hasSubordinateIds, environment })
    child.stdin.end()
    child.stdout.pipe(process.stdout, { end: false })
    child.stderr.pipe(process.stderr, { end: false })
    const [exitCode]: unknown[] = await once(child, 'close')
    return exitCode === 0
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

if (process.getuid?.() !== 0) throw new Error('only root can become another account')
for (const hasSubordinateIds of [true, false]) {
  process.stdout.write(`an account ${hasSubordinateIds ? 'with' : 'without'} subordinate ids\n`)
  if (!(await runContracts(hasSubordinateIds))) process.exitCode = 1
}
