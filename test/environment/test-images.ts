/**
 * The images that the contract suites run on, made from the distribution's packages because no image registry is needed or asked.
 *
 * Made once per machine: the tarballs are kept in the user's cache, named by the hash of their recipe.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { arch, homedir } from 'node:os'
import { join } from 'node:path'
import { hasImage, importImage } from './engine-api.ts'
import { run } from './program.ts'

/** Like python:3.11-slim: sh, bash, coreutils, python3 with venv; and what a Node that is mounted into it needs. */
export const DEBIAN_IMAGE = 'holdfast-test/debian'
/** One static program, `/hello`; no shell, no passwd file, no /tmp. */
export const NOSHELL_IMAGE = 'holdfast-test/noshell'

const RECIPES = join(import.meta.dirname, 'images')
const IMAGES = [
  { name: DEBIAN_IMAGE, recipe: 'debian', changes: ['ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'CMD ["python3"]'] },
  { name: NOSHELL_IMAGE, recipe: 'noshell', changes: ['ENTRYPOINT ["/hello"]'] },
] as const

export interface ImageTarball {
  readonly name: string
  readonly path: string
  readonly changes: readonly string[]
}

/** DEBIAN_IMAGE with node, npm, pip and this machine's certificates of authorities. Large, so only a suite that asks for it gets it. */
export const SOFTWARE_IMAGE = 'holdfast-test/software'

export async function loadSoftwareImage(socketPath: string): Promise<void> {
  const changes = IMAGES[0].changes
  await loadImages(socketPath, [{ name: SOFTWARE_IMAGE, path: await tarball('software'), changes }])
}

/** Makes what the cache does not hold yet. */
export async function imageTarballs(): Promise<readonly ImageTarball[]> {
  return Promise.all(IMAGES.map(async ({ name, recipe, changes }) => ({ name, path: await tarball(recipe), changes })))
}

/** Loads the images into an engine, unless they are there. */
export async function loadImages(socketPath: string, tarballs: readonly ImageTarball[]): Promise<void> {
  for (const { name, path, changes } of tarballs) {
    if (!(await hasImage(socketPath, `${name}:latest`))) await importImage(socketPath, name, path, changes)
  }
}

async function tarball(recipe: string): Promise<string> {
  const directory = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'holdfast', 'test-images')
  mkdirSync(directory, { recursive: true })
  const path = join(directory, `${recipe}-${recipeHash(recipe)}.tar`)
  if (existsSync(path)) return path
  const temporary = `${path}.${process.pid}`
  try {
    await run(join(RECIPES, `${recipe}.sh`), [temporary])
    renameSync(temporary, path)
  } finally {
    rmSync(temporary, { force: true })
  }
  removeOthers(directory, recipe, path)
  return path
}

/** Finished tarballs of earlier recipes; unfinished ones may be another run's. */
function removeOthers(directory: string, recipe: string, current: string): void {
  const others = readdirSync(directory).filter((name) => name.startsWith(`${recipe}-`) && name.endsWith('.tar'))
  for (const other of others.map((name) => join(directory, name))) if (other !== current) rmSync(other, { force: true })
}

/** Also of the distribution, since its packages are what the image is made of. */
function recipeHash(recipe: string): string {
  const parts = [readFileSync(join(RECIPES, `${recipe}.sh`)), readFileSync(join(RECIPES, 'hello.c')), readFileSync('/etc/os-release')]
  const hash = createHash('sha256').update(arch())
  for (const part of parts) hash.update(part)
  return hash.digest('hex').slice(0, 16)
}
