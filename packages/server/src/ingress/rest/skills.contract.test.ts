/** Skills over REST: who may read and change them, what is written down of it, and how archives come in. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeZip } from '../../skills/contract/zip-writer.ts'
import { openLaboratory } from './contract/laboratory.ts'
import type { Laboratory } from './contract/laboratory.ts'

let laboratory: Laboratory
const keys = { member: '', operator: '', viewer: '', other: '' }
beforeAll(async () => {
  laboratory = await openLaboratory()
  const { plane, admin, keyOf } = laboratory
  const policy = { admin_exec: false, packing: { profiles: [] }, ceilings: {} }
  const other = await plane.tenants.create(admin, { name: 'other', policy, quotas: {} })
  keys.member = await keyOf({ subject: 'mia' })
  keys.operator = await keyOf({ subject: 'olaf', role: 'operator' })
  keys.viewer = await keyOf({ subject: 'vera', role: 'viewer' })
  keys.other = await keyOf({ subject: 'omar', role: 'tenant_admin' }, other.id)
})
afterAll(() => laboratory.close())

const asOperator = () => ({ key: keys.operator })
const skillsOf = async (key = keys.member) => {
  const { body } = await laboratory.send('/v1/skills', { key })
  return (body['items'] as { readonly name: string }[]).map(({ name }) => name)
}
/** Bytes that are no text must reach the door as they are. */
const upload = async (path: string, archive: Uint8Array, key = keys.operator) => {
  const response = await laboratory.door.request(`http://127.0.0.1:5410${path}`, {
    method: 'POST',
    headers: { host: '127.0.0.1:5410', authorization: `Bearer ${key}` },
    body: new Blob([Uint8Array.from(archive)]).stream(),
    duplex: 'half',
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

test('an operator makes, reads, changes and removes a skill, and a member reads it', async () => {
  const made = await laboratory.post(
    '/v1/skills',
    { name: 'demo', display_name: 'Demo', description: 'd', instructions: '# hi' },
    asOperator(),
  )
  expect(made).toMatchObject({
    status: 201,
    body: { name: 'demo', display_name: 'Demo', description: 'd', instructions: '# hi', entry_file: 'SKILL.md', python_project: false },
  })
  expect(made.text).not.toContain('/tmp')
  expect(await laboratory.send('/v1/skills/demo', { key: keys.member })).toMatchObject({ status: 200, body: made.body })
  expect(await skillsOf()).toEqual(['demo'])
  expect((await laboratory.send('/v1/skills', { key: keys.viewer })).text).not.toContain('# hi')
  const changed = await laboratory.send('/v1/skills/demo', { method: 'PATCH', body: { description: 'new' }, ...asOperator() })
  expect(changed).toMatchObject({ status: 200, body: { description: 'new', instructions: '# hi' } })
  expect(await laboratory.post('/v1/skills', { name: 'demo' }, asOperator())).toMatchObject({ status: 409, body: { code: 'name_taken' } })
  expect((await laboratory.send('/v1/skills/demo', { method: 'DELETE', ...asOperator() })).status).toBe(204)
  expect(await laboratory.send('/v1/skills/demo')).toMatchObject({ status: 404, body: { title: "there is no skill 'demo'" } })
})

test('names of any script go through the address', async () => {
  await laboratory.post('/v1/skills', { name: '技能-1' }, asOperator())
  expect((await laboratory.send(`/v1/skills/${encodeURIComponent('技能-1')}`)).body['name']).toBe('技能-1')
  await laboratory.send(`/v1/skills/${encodeURIComponent('技能-1')}`, { method: 'DELETE', ...asOperator() })
  for (const name of ['..', 'a b', 'x'.repeat(65), '%2e%2e%2f', 'a.b'])
    expect((await laboratory.send(`/v1/skills/${encodeURIComponent(name)}`)).status, name).toBeGreaterThanOrEqual(400)
})

test('members and viewers change nothing, and another tenant sees nothing', async () => {
  await laboratory.post('/v1/skills', { name: 'ours', instructions: 'secret of ours' }, asOperator())
  for (const key of [keys.member, keys.viewer]) {
    expect((await laboratory.post('/v1/skills', { name: 'x' }, { key })).status).toBe(403)
    expect((await laboratory.send('/v1/skills/ours', { method: 'PATCH', body: {}, key })).status).toBe(403)
    expect((await laboratory.send('/v1/skills/ours', { method: 'DELETE', key })).status).toBe(403)
    expect((await laboratory.send('/v1/skills/ours/files?path=a', { method: 'PUT', body: 'x', key })).status).toBe(403)
    expect((await upload('/v1/skill-archives/install', new Uint8Array(), key)).status).toBe(403)
    expect((await upload('/v1/skill-archives/preview', new Uint8Array(), key)).status).toBe(403)
  }
  expect(await skillsOf(keys.other)).toEqual([])
  expect((await laboratory.send('/v1/skills/ours', { key: keys.other })).status).toBe(404)
  expect((await laboratory.send('/v1/skills/ours/files?path=SKILL.md', { key: keys.other })).status).toBe(404)
  expect((await laboratory.post('/v1/skills', { name: 'ours' }, { key: keys.other })).status).toBe(201)
  expect((await laboratory.send('/v1/skills/ours', { key: keys.member })).body['instructions']).toBe('secret of ours')
})

test('files are listed, read and written, and lead nowhere else', async () => {
  const at = (query: string, route = '') => `/v1/skills/ours/files${route}?${query}`
  const written = await laboratory.send(at('path=docs/größe.md'), { method: 'PUT', body: 'größe', ...asOperator() })
  expect(written).toMatchObject({ status: 200, body: { path: 'docs/größe.md', bytes_written: 7 } })
  const read = await laboratory.request(at('path=docs/größe.md'), { key: keys.member })
  expect([await read.text(), read.headers.get('content-type')]).toEqual(['größe', 'application/octet-stream'])
  expect((await laboratory.send(at('path=docs', '/list'), { key: keys.member })).body).toEqual({
    base_path: 'docs',
    items: [{ path: 'docs/größe.md', name: 'größe.md', is_directory: false, size: 7 }],
    truncated: false,
  })
  expect((await laboratory.send('/v1/skills/ours/files/list')).body).toMatchObject({
    base_path: '.',
    items: [{ name: 'SKILL.md' }, { name: 'docs' }],
  })
  expect(await laboratory.send(at('path=../../x'))).toMatchObject({ status: 400, body: { title: 'path: \'../../x\' leads out by ".."' } })
  expect((await laboratory.send(at('path=missing'))).status).toBe(404)
  expect((await laboratory.send(at('limit=0', '/list'))).status).toBe(400)
  const large = await laboratory.send(at('path=large'), { method: 'PUT', body: 'x'.repeat(1024 * 1024 + 1), ...asOperator() })
  expect(large).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })
  const renamed = await laboratory.send(at('path=SKILL.md'), { method: 'PUT', body: '---\nname: theirs\n---\n', ...asOperator() })
  expect(renamed).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
})

test('an archive is looked at, installed, and never kept', async () => {
  const archive = writeZip([
    { name: 'a/SKILL.md', content: '---\nname: alpha\n---\nfirst' },
    { name: 'b/SKILL.md', content: '---\nname: beta\n---\nsecond' },
  ])
  const preview = await upload('/v1/skill-archives/preview?filename=two.zip', archive)
  expect(preview).toMatchObject({
    status: 200,
    body: { items: [{ name: 'alpha', source_path: 'a', instructions: 'first' }, { name: 'beta' }] },
  })
  expect(JSON.stringify(preview.body)).not.toContain('/tmp')
  expect(await upload('/v1/skill-archives/install?filename=two.zip', archive)).toMatchObject({
    status: 400,
    body: { details: { candidates: ['a', 'b'] } },
  })
  const installed = await upload('/v1/skill-archives/install?filename=two.zip&source_path=a&source_path=b', archive)
  expect(installed).toMatchObject({ status: 201, body: { items: [{ name: 'alpha' }, { name: 'beta' }] } })
  expect((await skillsOf()).toSorted()).toEqual(['alpha', 'beta', 'ours'])
  expect(await upload('/v1/skill-archives/install?filename=no.zip', Buffer.from('no zip'))).toMatchObject({ status: 400 })
  expect(await upload('/v1/skill-archives/install', new Uint8Array(20 * 1024 * 1024 + 1))).toMatchObject({ status: 413 })
  const { uploads } = laboratory.plane.skills
  expect(existsSync(uploads.directory)).toBe(true)
  expect(readdirSync(uploads.directory)).toEqual([])
  expect(readdirSync(join(uploads.directory, '../tenants/tnt_default/.making'))).toEqual([])
})

test('every change is in the audit by its name and outcome, and no content is', async () => {
  const { text, body } = await laboratory.send('/v1/audit?page_size=200')
  const records = (body['items'] as { readonly action: string; readonly outcome: string; readonly resource: { readonly id: string } }[])
    .filter(({ action }) => action.startsWith('skill.'))
    .map(({ action, outcome, resource }) => `${action} ${resource.id} ${outcome}`)
  for (const record of [
    ...['skill.create demo success', 'skill.update demo success', 'skill.create demo failure', 'skill.remove demo success'],
    ...['skill.write-file ours success', 'skill.write-file ours failure', 'skill.install alpha success', 'skill.install beta success'],
    ...['skill.install no.zip failure'],
  ])
    expect(records).toContain(record)
  for (const content of ['# hi', 'größe', 'secret of ours', 'docs/']) expect(text).not.toContain(content)
})
