/** `npm run test:long -- root-inside`: the whole isolation contract of podman with `user: root`, of which `npm test` runs a part. Needs root. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const VITEST = [
  join(ROOT, 'node_modules/vitest/vitest.mjs'),
  'run',
  '--root',
  ROOT,
  '--configLoader=native',
  '--reporter=default',
  'podman.contract',
  '-t',
  'with root inside',
]

const { status } = spawnSync(process.execPath, VITEST, { stdio: 'inherit', env: { ...process.env, HOLDFAST_ROOT_INSIDE: 'whole' } })
process.exitCode = status ?? 1
