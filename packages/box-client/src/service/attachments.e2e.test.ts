/** Files go in and come out through commands, byte for byte, within their bounds, and always with the message's context. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectedStage } from '../contract/box-stage.ts'
import type { BoxStage } from '../contract/box-stage.ts'
import { CONTEXT, RESULT } from '../contract/script.ts'

const QUERY = { query_id: 42, launcher_type: 'group', launcher_id: 7 }

describe('attachments', () => {
  let directory: string
  let stage: BoxStage
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'box-client-'))
    stage = await connectedStage()
    // A shell is the sandbox here; its workspace is a directory of the test.
    stage.server.script.on('box_exec', ({ data }) => {
      const command = String(data['cmd']).replaceAll('/workspace', directory)
      const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
      return { data: { ...RESULT, exit_code: status, stdout: stdout.trim(), stderr } }
    })
  })
  afterEach(async () => {
    await stage.service.close()
    rmSync(directory, { recursive: true })
  })

  test('go in byte for byte, larger ones in pieces, with names that lead nowhere else', async () => {
    const bytes = Buffer.from(Array.from({ length: 150_000 }, (_, index) => (index * 7) % 256))
    const paths = await stage.service.putInbound(QUERY, [
      ...[
        { name: '../../it’s $(a) name.bin', bytes },
        { name: '..', bytes: Buffer.alloc(0) },
        { name: '', bytes: Buffer.from('a') },
      ],
      { name: 'x/file-2', bytes: Buffer.from('b') },
    ])
    const names = ['it_s __a_ name.bin', 'file-2', 'file-3', '4-file-2']
    expect(paths).toEqual(names.map((name) => `/workspace/inbox/42/${name}`))
    const [first, ...rest] = paths.map((path) => readFileSync(path.replace('/workspace', directory)))
    expect(first?.equals(bytes)).toBe(true)
    expect(rest.map(String)).toEqual(['', 'a', 'b'])
  })

  test('come out byte for byte, also from below, and the outbox is empty afterwards', async () => {
    const outbox = join(directory, 'outbox', '42')
    mkdirSync(join(outbox, 'sub'), { recursive: true })
    const bytes = Buffer.from(Array.from({ length: 1_200_000 }, (_, index) => (index * 11) % 256))
    writeFileSync(join(outbox, "a 'b'.bin"), bytes)
    writeFileSync(join(outbox, 'sub', '界.txt'), 'text')
    symlinkSync('/etc/passwd', join(outbox, 'link'))
    const { files, leftOut } = await stage.service.takeOutbound(QUERY)
    expect(leftOut).toEqual([])
    const found = new Map(files.map((file) => [file.name, Buffer.from(file.bytes)]))
    expect([...found.keys()].toSorted()).toEqual(["a 'b'.bin", 'sub/界.txt'])
    expect(found.get("a 'b'.bin")?.equals(bytes)).toBe(true)
    expect(found.get('sub/界.txt')?.toString()).toBe('text')
    expect(existsSync(outbox)).toBe(false)
  })

  test('are always asked for with the context and in the session of the message', async () => {
    await stage.service.takeOutbound({ ...QUERY, query_uuid: 'u-1' })
    const commands = stage.server.script.asked.filter(({ action }) => action === 'box_exec')
    expect(commands.length).toBeGreaterThan(0)
    for (const command of commands) expect(command).toMatchObject({ context: CONTEXT, data: { session_id: 'group_7' } })
    expect(commands[0]?.data['cmd']).toContain('/workspace/outbox/u-1')
  })

  test('that are too many are told, not lost in silence', async () => {
    const outbox = join(directory, 'outbox', '42')
    mkdirSync(outbox, { recursive: true })
    for (let nth = 0; nth < 22; nth++) writeFileSync(join(outbox, `f${nth}`), 'x')
    const { files, leftOut } = await stage.service.takeOutbound(QUERY)
    expect([files.length, leftOut.length]).toEqual([20, 2])
  })

  test('that are too large are refused before anything is sent', async () => {
    const large = { name: 'big', bytes: new Uint8Array(10 * 1024 * 1024 + 1) }
    await expect(stage.service.putInbound(QUERY, [large])).rejects.toMatchObject({ boxClass: 'BoxValidationError' })
    const many = Array.from({ length: 21 }, () => ({ name: 'f', bytes: new Uint8Array(1) }))
    await expect(stage.service.putInbound(QUERY, many)).rejects.toMatchObject({ boxClass: 'BoxValidationError' })
    expect(stage.server.script.actions()).not.toContain('box_exec')
  })

  test('that cannot be moved fail with the words of the sandbox', async () => {
    stage.server.script.on('box_exec', { data: { ...RESULT, exit_code: 1, stderr: 'No space left on device' } })
    await expect(stage.service.putInbound(QUERY, [{ name: 'a', bytes: Buffer.from('a') }])).rejects.toThrow('No space left on device')
    expect(stage.service.getErrors()).toHaveLength(1)
  })
})
