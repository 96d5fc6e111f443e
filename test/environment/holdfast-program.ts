/**
 * The `holdfast` command as `npm run holdfast` runs it: bundled, once for all test files. Most of a short run of the sources is the
 * reading of them.
 */
import { join } from 'node:path'
import { bundle } from '../../scripts/bundle.mjs'

const ROOT = join(import.meta.dirname, '..', '..')

/** For `node`. */
export const PROGRAM = join(ROOT, await bundle(ROOT))
