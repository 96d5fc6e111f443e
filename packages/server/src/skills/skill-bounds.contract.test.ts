/** How much of a tenant's skills is looked at, where there is very much of it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSkillsLaboratory } from './contract/skills-laboratory.ts'

let laboratory: ReturnType<typeof openSkillsLaboratory>
beforeEach(() => {
  laboratory = openSkillsLaboratory()
})
afterEach(() => laboratory.close())

const isTold = () => laboratory.logged.some((line) => line.includes('skills-not-all-listed'))

test('at most 1000 packages are listed', async () => {
  for (let index = 0; index < 1_000; index += 1) laboratory.pack(`many/p${index}`)
  expect((await laboratory.store.list()).length).toBe(1_000)
  expect(isTold()).toBe(false)
  laboratory.pack('many/one-more')
  expect((await laboratory.store.list()).length).toBe(1_000)
  expect(isTold()).toBe(true)
})

test('at most 10000 entries are looked at', async () => {
  laboratory.pack('aaa/first')
  for (let index = 0; index < 10_000; index += 1) laboratory.put(`tenants/tnt_a/files/f${index}`, '')
  laboratory.pack('zzz/last')
  expect((await laboratory.store.list()).map(({ name }) => name)).toEqual([])
  expect(isTold()).toBe(true)
})

test('at most 16 MiB of text are read', async () => {
  for (let index = 0; index < 18; index += 1) laboratory.pack(`large${index}`, 'x'.repeat(1024 * 1024))
  expect((await laboratory.store.list()).length).toBe(16)
  expect(isTold()).toBe(true)
})

test('at most 1000 files of a directory are listed, and 10000 looked at', async () => {
  const { store, put } = laboratory
  await store.create({ name: 'demo' })
  for (let index = 0; index < 1_100; index += 1) put(`tenants/tnt_a/demo/many/f${index}`, '')
  expect(await store.files('demo', 'many', { maxEntries: 5_000 })).toMatchObject({ truncated: true, entries: { length: 1_000 } })
  for (let index = 0; index < 10_000; index += 1) put(`tenants/tnt_a/demo/hidden/.f${index}`, '')
  expect(await store.files('demo', 'hidden')).toMatchObject({ truncated: false })
  put('tenants/tnt_a/demo/hidden/.one-more', '')
  expect(await store.files('demo', 'hidden')).toMatchObject({ truncated: true })
})
