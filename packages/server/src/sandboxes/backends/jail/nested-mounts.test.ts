/** No mount follows a link that lies in another mount. */
import { mkdirSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Mount } from '../../spec.ts'
import { refusePlantedLinks } from './nested-mounts.ts'

const source = mkdtempSync(join(tmpdir(), 'holdfast-nested-'))
mkdirSync(join(source, 'real/deep'), { recursive: true })
symlinkSync('/etc', join(source, 'link'))
symlinkSync('/etc', join(source, 'real/link'))

function mounts(inner: string): readonly Mount[] {
  return ['/workspace', `/workspace/${inner}`].map((target) => ({ source, target, mode: 'rw' }))
}

test.each(['link', 'link/a', 'real/link', 'real/link/b/c'])('%s is refused', async (inner) => {
  await expect(refusePlantedLinks(mounts(inner))).rejects.toMatchObject({
    code: 'mount_refused',
    message: expect.stringContaining('is a symbolic link'),
  })
})

test.each(['real', 'real/deep', 'new', 'real/new/newer'])('%s is fine', async (inner) => {
  await expect(refusePlantedLinks(mounts(inner))).resolves.toBeUndefined()
})
