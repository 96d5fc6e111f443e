/** Sources that are swapped before and while an engine mounts them. The process that "sees" them is this one. */
import { mkdir, mkdtemp, realpath, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pid } from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { assertMounted, identifyMounts, swappable } from './mount-sources.ts'

let directory: string

beforeEach(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-mounts-')))
  await mkdir(join(directory, 'source'))
  await mkdir(join(directory, 'secret'))
})
afterEach(() => rm(directory, { recursive: true }))

/** Shown at its own path, as this process sees it. */
const mount = () => ({ source: join(directory, 'source'), target: join(directory, 'source'), mode: 'ro' as const })

async function swap(): Promise<void> {
  await rename(join(directory, 'source'), join(directory, 'away'))
  await symlink(join(directory, 'secret'), join(directory, 'source'))
}

test('what was identified and is shown unchanged passes', async () => {
  await expect(assertMounted(await identifyMounts([mount()]), pid)).resolves.toBeUndefined()
})

test('a source that became a link is refused before anything is made', async () => {
  await swap()
  await expect(identifyMounts([mount()])).rejects.toMatchObject({ code: 'mount_refused' })
})

test('a source below a directory that became a link is refused', async () => {
  await mkdir(join(directory, 'secret', 'below'))
  await swap()
  await expect(identifyMounts([{ ...mount(), source: join(directory, 'source', 'below') }])).rejects.toMatchObject({
    code: 'mount_refused',
  })
})

test('something else at the target is refused, even when the source is back in its place', async () => {
  const identified = await identifyMounts([mount()])
  await swap()
  await expect(assertMounted(identified, pid)).rejects.toMatchObject({
    code: 'mount_refused',
    message: expect.stringContaining('replaced'),
  })
})

test('a missing source is named', async () => {
  await expect(identifyMounts([{ ...mount(), source: join(directory, 'none') }])).rejects.toMatchObject({
    code: 'mount_refused',
    message: expect.stringContaining('does not exist'),
  })
})

test("the server's own directories need no second look, their namesakes do", async () => {
  const identified = await identifyMounts([mount()])
  expect(swappable(identified, directory)).toEqual([])
  expect(swappable(identified, join(directory, 'sou'))).toEqual(identified)
})
