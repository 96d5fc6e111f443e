/** The mount of the view of skills: where it has a place, and what is done to make one. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Mount } from '../sandboxes/spec.ts'
import { withSkillView } from './skill-mount.ts'

let ground: string
let source: string
let view: Mount
beforeEach(() => {
  ground = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-skill-mount-')))
  source = join(ground, 'workspace')
  for (const name of ['workspace', 'view', 'other']) mkdirSync(join(ground, name))
  view = { source: join(ground, 'view'), target: '/workspace/.skills', mode: 'rw', isOwn: true }
})
afterEach(() => rmSync(ground, { recursive: true, force: true }))

const workspace = (mode: Mount['mode'] = 'rw'): Mount => ({ source, target: '/workspace', mode })

test('it is made inside the workspace, after it and before what is deeper', async () => {
  const own = workspace()
  const deeper: Mount = { source: join(ground, 'other'), target: '/workspace/.skills/other', mode: 'ro' }
  expect(await withSkillView([own], view.source, [own])).toEqual([own, view])
  expect(await withSkillView([own, deeper], view.source, [own])).toEqual([own, view, deeper])
  expect(lstatSync(join(source, '.skills')).isDirectory()).toBe(true)
})

test('whatever a program left in its place in the session’s own files is moved aside, and not followed', async () => {
  const kept = join(ground, 'kept')
  mkdirSync(kept)
  for (const leave of [() => symlinkSync(kept, join(source, '.skills')), () => writeFileSync(join(source, '.skills'), 'text')]) {
    leave()
    const own = workspace('ro')
    expect(await withSkillView([own], view.source, [own])).toEqual([own, view])
    rmSync(join(source, '.skills'), { recursive: true })
  }
  expect(readdirSync(source).filter((name) => name.startsWith('.skills-old_')).length).toBe(2)
  expect(readdirSync(kept)).toEqual([])
})

test('a directory of a caller’s is not changed but for an empty directory, where it may be written', async () => {
  expect(await withSkillView([workspace('ro')], view.source, [])).toEqual([workspace('ro')])
  expect(existsSync(join(source, '.skills'))).toBe(false)
  expect(await withSkillView([workspace()], view.source, [])).toEqual([workspace(), view])
  expect(await withSkillView([workspace('ro')], view.source, [])).toEqual([workspace('ro'), view])
  rmSync(join(source, '.skills'), { recursive: true })
  writeFileSync(join(source, '.skills'), 'the caller’s')
  expect(await withSkillView([workspace()], view.source, [])).toEqual([workspace()])
  expect(readFileSync(join(source, '.skills'), 'utf8')).toBe('the caller’s')
})

test('what a caller shows there itself stays', async () => {
  const mounts = [workspace(), { source: join(ground, 'other'), target: '/workspace/.skills', mode: 'ro' } as const]
  expect(await withSkillView(mounts, view.source, [])).toEqual(mounts)
})
