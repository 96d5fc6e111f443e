/** `holdfast skills` against a real server: what is printed, what is changed, and that a file comes back as it went. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onBubblewrap } from './contract/on-bubblewrap.ts'

/** A zip archive with the skills `alpha` in `a` and `beta` in `b`. */
const ARCHIVE = Buffer.from(
  'UEsDBBQAAAgIAAAAAABOl+ZdGwAAABkAAAAKAAAAYS9TS0lMTC5tZNPV1eXKS8xNtVJIzCnISOTS1dXlSsssKi4BAFBLAwQUAAAICAAAAAAAUdammRsAAAAZAAAACgAAAGIvU0tJTEwubWTT1dXlykvMTbVSSEotSeTS1dXlKk5Nzs9LAQBQ' +
    'SwECFAMUAAAICAAAAAAATpfmXRsAAAAZAAAACgAAAAAAAAAAAAAApIEAAAAAYS9TS0lMTC5tZFBLAQIUAxQAAAgIAAAAAABR1qaZGwAAABkAAAAKAAAAAAAAAAAAAACkgUMAAABiL1NLSUxMLm1kUEsFBgAAAAACAAIAcAAAAIYAAAAAAA==',
  'base64',
)

onBubblewrap('skills', (stage) => {
  let here = ''
  beforeAll(() => {
    here = mkdtempSync(join(tmpdir(), 'holdfast-skills-'))
    writeFileSync(join(here, 'two.zip'), ARCHIVE)
  })
  afterAll(() => rmSync(here, { recursive: true, force: true }))
  const holdfast = (args: readonly string[], input = '') => stage().server.holdfast(args, input)

  test('one is added from stdin, shown, written to, read and removed', async () => {
    expect(await holdfast(['skills', 'add', 'reviewer', '--description', 'reviews a change'], 'Be kind.\n')).toMatchObject({ code: 0 })
    expect((await holdfast(['skills', 'ls'])).stdout).toMatch(/^NAME +DESCRIPTION +PYTHON +CHANGED\nreviewer +reviews a change/)
    expect(JSON.parse((await holdfast(['skills', 'show', 'reviewer', '-o', 'json'])).stdout)).toMatchObject({
      ...{ name: 'reviewer', instructions: 'Be kind.\n', python_project: false },
    })
    expect(await holdfast(['skills', 'put', 'reviewer', 'bin/run.sh'], 'echo é\n')).toMatchObject({ code: 0, stdout: '' })
    expect((await holdfast(['skills', 'cat', 'reviewer', 'bin/run.sh'])).stdout).toBe('echo é\n')
    expect((await holdfast(['skills', 'files', 'reviewer'])).stdout).toMatch(/^PATH +SIZE\nSKILL.md +\d+\nbin\/\n$/)
    expect(await holdfast(['skills', 'cat', 'reviewer', '../x'])).toMatchObject({ code: 1, stderr: expect.stringContaining('leads out') })
    expect(await holdfast(['skills', 'rm', 'reviewer'])).toMatchObject({ code: 0 })
    expect(await holdfast(['skills', 'show', 'reviewer'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no skill 'reviewer'"),
    })
  })

  test('an archive is looked at without a trace, and installed', async () => {
    const archive = join(here, 'two.zip')
    expect((await holdfast(['skills', 'install', archive, '--dry-run'])).stdout).toMatch(/\na +alpha.*\nb +beta/)
    expect((await holdfast(['skills', 'ls', '-q'])).stdout).toBe('')
    expect(await holdfast(['skills', 'install', archive])).toMatchObject({ code: 1, stderr: expect.stringContaining("'a', 'b'") })
    expect((await holdfast(['skills', 'install', archive, '--only', 'a', '--only', 'b', '-q'])).stdout).toBe('alpha\nbeta\n')
    expect(await holdfast(['skills', 'install', join(here, 'missing.zip')])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('on this machine'),
    })
  })
})
