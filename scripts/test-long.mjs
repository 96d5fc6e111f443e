/**
 * `npm run test:long`: what takes too long for every change. `npm run test:long -- fuzz` runs one part; docs/testing.md says what each proves,
 * and which `HOLDFAST_*` variables choose other seeds, numbers and times.
 */
import { join } from 'node:path'
import { runInForeground } from './set-up/command.mjs'
import { say, SetUpError } from './set-up/say.mjs'

/** @type {Record<string, string>} */
const PARTS = {
  model: 'test/model/run.ts',
  guards: 'test/model/guards/run.ts',
  fuzz: 'test/fuzz/run.ts',
  schemathesis: 'test/fuzz/schemathesis/run.ts',
  load: 'test/load/run.ts',
  places: 'test/places/run.ts',
  'not-root': 'test/not-root/run.ts',
  'root-inside': 'test/root-inside/run.ts',
  crashes: 'test/chaos/sessions/run.ts',
  'store-faults': 'test/chaos/store-faults/run.ts',
  'in-flight': 'test/in-flight/run.ts',
  followers: 'test/load/followers/run.ts',
  upgrade: 'test/upgrade/run.ts',
  langbot: 'test/interop/run.ts',
  'first-use': 'test/first-use/run.ts',
  docker: 'test/on-docker/run.ts',
}

/**
 * @param {string} root the repository
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 * @param {readonly string[]} args one part and arguments for it; without any, all parts
 * @returns {Promise<number>} the exit code
 */
export async function runLongTests(root, node, env, [wanted, ...rest]) {
  if (wanted !== undefined && !Object.hasOwn(PARTS, wanted))
    throw new SetUpError(`there is no long test '${wanted}'; there are: ${Object.keys(PARTS).join(', ')}`)
  let failed = 0
  for (const [part, script] of Object.entries(PARTS)) {
    if (wanted !== undefined && wanted !== part) continue
    const startedAtMs = performance.now()
    const exitCode = await runInForeground(node, ['--disable-warning=ExperimentalWarning', join(root, script), ...rest], { cwd: root, env })
    say(`${exitCode === 0 ? '✓' : '✗'} ${part} (${((performance.now() - startedAtMs) / 1000).toFixed(0)} s)`)
    if (exitCode !== 0) failed += 1
  }
  return failed > 0 ? 1 : 0
}
