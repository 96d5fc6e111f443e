/**
 * A program in a directory that is being removed: as fast as it can, it swaps a directory there for a link to somewhere else, and back.
 *
 * Goes on to the next of `bins` when its own is gone. Says a word when it has begun.
 */
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'

const [target = '', ...bins] = process.argv.slice(2)
/** How often it makes anew what was taken from it. */
const TIMES = 300

function attempt(act: () => void): boolean {
  try {
    act()
    return true
  } catch {
    // Taken away meanwhile: that is what is tried.
    return false
  }
}

function makeBoth(): boolean {
  attempt(() => mkdirSync('d'))
  attempt(() => writeFileSync('d/file', ''))
  attempt(() => symlinkSync(target, 'l'))
  return existsSync('l') || existsSync('d')
}

for (const bin of bins) {
  while (!attempt(() => process.chdir(bin)));
  makeBoth()
  process.stdout.write('begun\n')
  for (let made = 0; made < TIMES;) {
    const isSwapped =
      attempt(() => renameSync('d', 'x')) &&
      attempt(() => renameSync('l', 'd')) &&
      attempt(() => renameSync('d', 'l')) &&
      attempt(() => renameSync('x', 'd'))
    if (!isSwapped) {
      made += 1
      if (!makeBoth()) break
    }
  }
}
