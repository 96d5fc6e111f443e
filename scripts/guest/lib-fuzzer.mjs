/**
 * Whether clang can fuzz here: its runtime libraries are a package of their own.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { findProgram } from '../set-up/command.mjs'

export function hasLibFuzzer() {
  const clang = findProgram('clang')
  if (clang === null) return false
  const directory = spawnSync(clang, ['-print-runtime-dir'], { encoding: 'utf8' }).stdout.trim()
  try {
    return readdirSync(directory).some((name) => name.startsWith('libclang_rt.fuzzer'))
  } catch {
    return false // the directory comes with the package
  }
}
