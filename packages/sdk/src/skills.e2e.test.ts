/** Skills of a real server: made, read, changed, installed and removed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isSkipped, startServerForTests, why } from './contract/running-server.ts'
import type { ServerForTests } from './contract/running-server.ts'
import type { Skills } from './index.ts'

/** A zip archive with the skills `alpha` in `a` and `beta` in `b`. */
const ARCHIVE = Buffer.from(
  'UEsDBBQAAAgIAAAAAABOl+ZdGwAAABkAAAAKAAAAYS9TS0lMTC5tZNPV1eXKS8xNtVJIzCnISOTS1dXlSsssKi4BAFBLAwQUAAAICAAAAAAAUdammRsAAAAZAAAACgAAAGIvU0tJTEwubWTT1dXlykvMTbVSSEotSeTS1dXlKk5Nzs9LAQBQ' +
    'SwECFAMUAAAICAAAAAAATpfmXRsAAAAZAAAACgAAAAAAAAAAAAAApIEAAAAAYS9TS0lMTC5tZFBLAQIUAxQAAAgIAAAAAABR1qaZGwAAABkAAAAKAAAAAAAAAAAAAACkgUMAAABiL1NLSUxMLm1kUEsFBgAAAAACAAIAcAAAAIYAAAAAAA==',
  'base64',
)

describe.skipIf(isSkipped)(`skills${why}`, () => {
  let running: ServerForTests
  let skills: Skills
  beforeAll(async () => {
    running = await startServerForTests()
    skills = running.client().skills
  })
  afterAll(() => running.close())

  test('a skill is made, listed, changed and removed', async () => {
    const made = await skills.create({ name: 'größe', displayName: 'Size', description: 'd', instructions: 'measure' })
    expect(made).toMatchObject({ name: 'größe', displayName: 'Size', instructions: 'measure', pythonProject: false, entryFile: 'SKILL.md' })
    expect(await skills.get('größe')).toEqual(made)
    expect(await skills.list()).toMatchObject([{ name: 'größe', description: 'd' }])
    expect(await skills.update('größe', { description: '' })).toMatchObject({ description: '', instructions: 'measure' })
    await skills.remove('größe')
    await expect(skills.get('größe')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('its files are written, listed and read', async () => {
    await skills.create({ name: 'demo' })
    expect(await skills.writeFile('demo', 'bin/run.sh', 'echo é')).toEqual({ path: 'bin/run.sh', bytesWritten: 7 })
    expect(await skills.readFile('demo', 'bin/run.sh')).toBe('echo é')
    expect(await skills.files('demo', { path: 'bin' })).toEqual({
      basePath: 'bin',
      items: [{ path: 'bin/run.sh', name: 'run.sh', isDirectory: false, size: 7 }],
      truncated: false,
    })
    expect(await skills.files('demo', { limit: 1 })).toMatchObject({ items: [{ name: 'SKILL.md' }], truncated: true })
    await expect(skills.readFile('demo', '../x')).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('an archive is looked at and installed', async () => {
    expect(await skills.preview(ARCHIVE, { filename: 'two.zip' })).toMatchObject([
      { name: 'alpha', sourcePath: 'a', instructions: 'first' },
      { name: 'beta', sourcePath: 'b' },
    ])
    await expect(skills.install(ARCHIVE)).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await skills.install(ARCHIVE, { filename: 'two.zip', sourcePaths: ['a', 'b'] })).toMatchObject([
      { name: 'alpha' },
      { name: 'beta' },
    ])
    expect(await skills.install(new Blob([ARCHIVE]), { sourcePaths: ['a'] }).catch((error: unknown) => error)).toMatchObject({
      code: 'name_taken',
    })
  })
})
