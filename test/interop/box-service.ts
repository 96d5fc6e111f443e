/**
 * LangBot's own BoxService, of one release on one backend: commands, files in and out, skills, managed processes, `kill -9` and reconnection.
 *
 * Only the modules of LangBot that speak to a Box are installed with what they need; the rest of the application is a stub.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ArtifactManifest, manifestDigest, workspaceNamespace } from '@holdfast/protocol/box'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BackendKind } from '../../packages/server/src/sandboxes/backend.ts'
import { backendsUnderTest, because } from '../environment/backends.ts'
import { makePlace, startBoxServer } from './box-server.ts'
import type { BoxPlace, BoxServer } from './box-server.ts'
import { CONTEXT, startDriver } from './langbot-driver.ts'
import type { LangBotDriver } from './langbot-driver.ts'
import { partialEnvironment, published, publishedBecause } from './published-packages.ts'

/** Each with the SDK that it pins. */
export const LANGBOTS = { '4.10.0': '0.4.1', '4.10.8': '0.5.5', '4.11.2': '0.7.16' } as const
export type LangBotRelease = keyof typeof LANGBOTS

export interface BoxServiceCase {
  readonly langbot: LangBotRelease
  readonly kind: BackendKind
  /** LangBot and the server use one directory. */
  readonly isShared: boolean
}

interface Executed {
  readonly session_id: string
  readonly exit_code: number
  readonly stdout: string
}

export async function describeBoxService({ langbot, kind: wanted, isShared }: BoxServiceCase): Promise<void> {
  const needs = [`langbot-plugin==${LANGBOTS[langbot]}`, 'aiohttp', 'sqlalchemy', 'greenlet']
  const service = await published(partialEnvironment(`langbot==${langbot}`, ...needs))
  const backends = service.path === null ? [] : (await backendsUnderTest()).filter(({ kind }) => kind === wanted)
  const how = isShared ? 'a shared directory' : 'a directory of the server’s own'

  describe.skipIf(service.path === null)(`LangBot ${langbot} with ${how}${publishedBecause(service)}`, () => {
    test('can be had', () => expect(service.skipReason).toBeNull())

    for (const under of backends) {
      describe.skipIf(under.skipReason !== null)(`on ${under.kind}${because(under)}`, () => {
        let place: BoxPlace
        let server: BoxServer
        let driver: LangBotDriver
        const order = <T = Record<string, unknown>>(name: string, values: object = {}) => driver.order(name, { ...values }) as Promise<T>
        const execute = (chat: string, command: string) => order<Executed>('execute', { chat, command })
        const named = (chat: string) =>
          langbot === '4.11.2' ? `runner-${createHash('sha256').update(chat).digest('hex')}` : `group_${chat}`

        beforeAll(async () => {
          if (service.path === null) return
          // One of 4.10.0 is served where no instance is named.
          const alone = { LANGBOT_BOX_TRUSTED_INSTANCE_UUID: undefined, ...(isShared ? {} : { HOLDFAST_BOX_HOST_ROOT: undefined }) }
          place = makePlace(under, alone)
          server = await startBoxServer(place)
          driver = startDriver(join(service.path, 'bin', 'python3'), 'box_service_driver.py')
          const local = isShared
            ? { host_root: place.root, allowed_mount_roots: [place.root] }
            : { host_root: './data/box', allowed_mount_roots: ['./data/box'] }
          const box = { enabled: true, backend: 'local', runtime: { endpoint: server.url }, local: { profile: 'default', ...local } }
          expect(await order('start', { box })).toMatchObject({ available: true, backend: { name: under.kind, available: true } })
        })
        afterAll(async () => {
          await driver.close()
          await server.close()
          await place.remove()
        })

        test('runs commands, one session to a chat', async () => {
          expect(await execute('one', 'echo kept > note; pwd')).toMatchObject({
            session_id: named('one'),
            exit_code: 0,
            stdout: '/workspace',
          })
          expect(await execute('one', 'cat note')).toMatchObject({ stdout: 'kept' })
          expect(await execute('two', 'exit 3')).toMatchObject({ session_id: named('two'), exit_code: 3 })
          const all = await order<{ session_id: string }[]>('sessions')
          expect(all.map(({ session_id: id }) => id)).toEqual(expect.arrayContaining([named('one'), named('two')]))
        })

        test.skipIf(langbot === '4.10.0')('a person’s file is there for the next command', async () => {
          const [path = ''] = await order<string[]>('send_in', { chat: 'one', name: 'in.txt', content: 'from a person' })
          expect(path).toMatch(/^\/workspace\/inbox\/.*in\.txt$/)
          expect(await execute('one', `cat ${path}`)).toMatchObject({ exit_code: 0, stdout: 'from a person' })
        })

        test.skipIf(langbot === '4.10.0')('files that a command leaves in the outbox reach the person', async () => {
          const outbox = await order<string>('outbox', { chat: 'one' })
          await execute('one', `mkdir -p ${outbox}; printf result > ${outbox}/r.txt`)
          expect(await order('collect', { chat: 'one', paths: [`${outbox}/r.txt`] })).toEqual({ 'r.txt': 'result' })
        })

        test.runIf(langbot === '4.11.2' && isShared)(
          'a skill that is activated in the middle of a run needs no other sandbox',
          async () => {
            await execute('one', 'touch /tmp/same')
            const skill = revisionIn(place.root, { 'SKILL.md': 'Do it.', 'bin/run.sh': '#!/bin/sh\necho ran\n' })
            const waiting = execute('one', `until test -e ${skill.path}; do sleep 0.05; done; echo seen`)
            await order('activate', { chat: 'one', name: 'demo', ...skill.fields })
            expect(await execute('one', `cat ${skill.path}/SKILL.md; ${skill.path}/bin/run.sh; ls /tmp/same`)).toMatchObject({
              stdout: 'Do it.ran\n/tmp/same',
            })
            expect(await waiting).toMatchObject({ stdout: 'seen' })
          },
        )

        test.runIf(langbot === '4.11.2')('runners see the capacity, and the storage page its rows', async () => {
          expect(await order('status')).toMatchObject({ capacity: { limit: 64, used: expect.any(Number) as number } })
          const { directories } = await order<{ directories: { key: string }[] }>('storage')
          expect(directories.map(({ key }) => key)).toEqual(expect.arrayContaining(['workspace', 'inbox', 'outbox', 'session_temp']))
        })

        test('a managed process lives through kill -9 of the server, and LangBot finds both again', async () => {
          const script = 'while read -r line; do echo "heard $line"; done'
          const which = { session: 'mcp-shared', process_id: 'p1' }
          // As LangBot’s loader asks for it, with a writable root.
          const started = await order('process', { ...which, command: 'sh', args: ['-c', script] })
          await order('attach', which)
          expect(await order('speak', { process_id: 'p1', line: 'one' })).toBe('heard one\n')
          await execute('one', 'echo kept > /tmp/kept')
          await server.die()
          await server.restart()
          await order('available')
          expect(await execute('one', 'cat /tmp/kept')).toMatchObject({ stdout: 'kept' })
          expect(await order('look', which)).toMatchObject({ status: 'running', started_at: started['started_at'] })
          await order('attach', which)
          let line: unknown = await order('speak', { process_id: 'p1', line: 'two' })
          // What was sent to a killed server may come again.
          while (line !== 'heard two\n') line = await order('speak', { process_id: 'p1', line: 'two' })
        })
      })
    }
  })
}

/** A revision of a skill, as LangBot 4.11 publishes it. */
function revisionIn(root: string, contents: Readonly<Record<string, string>>) {
  const namespace = workspaceNamespace(CONTEXT.instance_uuid, CONTEXT.workspace_uuid)
  const revision = join(root, 'skills', 'tenants', namespace, '.langbot-skill-store', 'revisions', 'demo')
  const files = Object.entries(contents).map(([path, text]) => {
    mkdirSync(dirname(join(revision, 'package', path)), { recursive: true })
    writeFileSync(join(revision, 'package', path), text)
    const sha256 = createHash('sha256').update(text).digest('hex')
    return { path, size: Buffer.byteLength(text), sha256, executable: path.endsWith('.sh') }
  })
  const total_bytes = files.reduce((sum, { size }) => sum + size, 0)
  const manifest = ArtifactManifest.parse({ algorithm: 'sha256-tree-v1', files, total_bytes })
  writeFileSync(join(revision, 'manifest.json'), JSON.stringify(manifest))
  const digest = manifestDigest(manifest)
  return {
    path: `/opt/langbot-artifacts/${digest.slice('sha256:'.length)}`,
    fields: { package_root: join(revision, 'package'), manifest_path: join(revision, 'manifest.json'), revision: digest },
  }
}
