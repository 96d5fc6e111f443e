/**
 * A copy of the tree that can be changed and run on its own: the sources are copied, what they are built on is linked.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const COPIED = ['packages', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts']
const OWN_SCOPE = '@holdfast'

export function copyTree(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'holdfast-guards-'))
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true })
  mkdirSync(join(copy, 'guest'))
  symlinkSync(join(root, 'guest', 'build'), join(copy, 'guest', 'build'))
  mkdirSync(join(copy, 'node_modules', OWN_SCOPE), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== OWN_SCOPE) symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name))
  // Its own packages are those of the copy.
  for (const name of readdirSync(join(copy, 'packages')))
    symlinkSync(join(copy, 'packages', name), join(copy, 'node_modules', OWN_SCOPE, name))
  return copy
}
