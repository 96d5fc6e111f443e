/** What a sandbox with `user: root` sees of the host's /etc. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { publicFiles } from './public-files.ts'

let etc: string
afterEach(() => rmSync(etc, { recursive: true, force: true }))

test('copies package sources and certificates, and no account, private file or address with a password', () => {
  etc = mkdtempSync(join(tmpdir(), 'holdfast-etc-'))
  for (const directory of ['apt/sources.list.d', 'apt/auth.conf.d', 'ssl/certs', 'ssl/private'])
    mkdirSync(join(etc, directory), { recursive: true })
  const write = (name: string, text: string, mode = 0o644) => {
    writeFileSync(join(etc, name), text)
    chmodSync(join(etc, name), mode)
  }
  write('apt/sources.list.d/debian.sources', 'URIs: http://packages.example/debian')
  write('apt/sources.list.d/own.list', 'deb https://me:secret@packages.example/ stable main')
  write('apt/sources.list.d/closed.list', 'deb https://packages.example/ stable main', 0o600)
  for (const name of ['shadow', 'passwd', 'apt/auth.conf.d/own.conf', 'ssl/private/key.pem']) write(name, 'secret')
  write('ssl/certs/ca.pem', 'certificate')
  symlinkSync('ca.pem', join(etc, 'ssl/certs/0123.0'))
  const { files, links } = publicFiles(etc)
  expect(Object.keys(files).toSorted()).toEqual(['apt/sources.list.d/debian.sources', 'ssl/certs/ca.pem'])
  expect(links).toEqual({ 'ssl/certs/0123.0': 'ca.pem' })
})
