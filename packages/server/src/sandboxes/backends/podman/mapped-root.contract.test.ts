/** The mount of a container's root with `user: root`, when a server or an engine does not get as far as the start. */
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backendsUnderTest } from '../../../../../../test/environment/backends.ts'
import { subjectOf } from '../../contract/contracts.ts'
import { openLaboratory } from '../../contract/laboratory.ts'
import { rootLayerPath } from '../../root-layer.ts'
import { assertMappedRoot, mappedRootPath, mountMappedRoot } from '../engine/mapped-root.ts'
import { podmanBackend } from './podman-backend.ts'

test('a mapped root that a killed server left is listed, and destroy removes it', async ({ skip }) => {
  const found = (await backendsUnderTest()).find(({ kind }) => kind === 'podman')
  if (found === undefined || found.skipReason !== null) return skip(found?.skipReason ?? 'no podman here')
  const laboratory = await openLaboratory(
    subjectOf(found, (needs, { podmanSocket: socket }) => podmanBackend(needs, socket === undefined ? {} : { socket })),
  )
  try {
    if (!laboratory.capabilities.rootUser) return skip(laboratory.capabilities.reasons.rootUser ?? 'no root inside here')
    const { backend, needs } = laboratory
    const name = laboratory.newName()
    const users = laboratory.newRootUsers()
    const layer = rootLayerPath(needs.stateDir, name)
    const image = laboratory.hostDirectory('image')
    writeFileSync(join(image, 'file'), 'of the image')
    mkdirSync(join(needs.stateDir, 'sandboxes', name, 'podman'), { recursive: true })
    await mountMappedRoot(needs.launcherPath, users, [image], layer)
    expect(statSync(join(mappedRootPath(layer), 'file')).uid).toBe(users.commands)
    await expect(assertMappedRoot(layer, process.pid)).rejects.toMatchObject({ code: 'capability_unsupported' })
    expect(await backend.list()).toEqual([{ name, running: false }])
    await backend.destroy(name)
    await backend.destroy(name)
    expect(await laboratory.traces()).toEqual([])
  } finally {
    expect(await laboratory.close(), 'left behind').toEqual([])
  }
})
