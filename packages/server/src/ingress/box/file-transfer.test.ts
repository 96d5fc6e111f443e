/** Files on their way: in order, whole, bounded, and gone afterwards. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createFileTransfer } from './file-transfer.ts'
import type { FileTransfer } from './file-transfer.ts'

const KEY = '20b34a3d06465d06-0b38fe81f0294eb0863ca40af9863efa.zip'
const MAXIMUM = 100_000
let parent: string
let directory: string
let files: FileTransfer
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-transfer-'))
  directory = join(parent, 'one')
  files = createFileTransfer({ directory, maxFileBytes: MAXIMUM })
})
afterEach(async () => {
  await files.close()
  rmSync(parent, { recursive: true })
})

const piece = (text: string, index = 0, amount = 1, length = text.length, key = KEY) => ({
  ...{ file_key: key, file_length: length, chunk_base64: Buffer.from(text).toString('base64') },
  ...{ chunk_index: index, chunk_amount: amount, chunk_size: text.length },
})
const used = async (key = KEY) => files.use(key, async (path) => readFile(path, 'utf8'))
const VALUE_ERROR = { boxClass: 'ValueError' }

describe('a file', () => {
  test('comes in pieces, is used once, and is gone', async () => {
    const content = 'abc'.repeat(10_000)
    await files.take(piece(content.slice(0, 16_384), 0, 2, content.length))
    await files.take(piece(content.slice(16_384), 1, 2, content.length))
    expect(await used()).toBe(content)
    expect(readdirSync(directory)).toEqual([])
    await expect(used()).rejects.toMatchObject({ boxClass: 'BoxValidationError' })
  })

  test('may be empty, and begins anew with its first piece', async () => {
    await files.take(piece(''))
    expect(await used()).toBe('')
    await files.take(piece('long', 0, 2, 8))
    await files.take(piece('new'))
    expect(await used()).toBe('new')
  })

  test('is gone when its use fails, and when the connection ends', async () => {
    await files.take(piece('x'))
    await expect(files.use(KEY, async () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(readdirSync(directory)).toEqual([])
    await files.take(piece('x'))
    await files.close()
    expect(existsSync(directory)).toBe(false)
    await expect(files.take(piece('x'))).rejects.toMatchObject({ boxClass: 'BoxRuntimeUnavailableError' })
    expect(existsSync(directory)).toBe(false)
  })

  test('has the order of the calls, though nobody waits between them', async () => {
    const parts = Array.from({ length: 6 }, (_none, index) => `${index}`.repeat(16_384))
    await Promise.all(parts.map(async (part, index) => files.take(piece(part, index, 6, 6 * 16_384))))
    expect(await used()).toBe(parts.join(''))
  })

  test('is kept under a name of the server’s own', async () => {
    await files.take(piece('x', 0, 1, 1, 'con.zip'))
    expect(readdirSync(directory)).toEqual(['1'])
    expect(readFileSync(join(directory, '1'), 'utf8')).toBe('x')
  })
})

describe('what is refused', () => {
  test.each<readonly [string, readonly object[]]>([
    ['an index that is not the next', [piece('ab', 0, 3, 6), piece('ef', 2, 3, 6)]],
    ['an index again', [piece('ab', 0, 3, 6), piece('cd', 1, 3, 6), piece('cd', 1, 3, 6)]],
    ['a piece of a file that was not begun', [piece('cd', 1, 2, 4)]],
    ['another amount than before', [piece('ab', 0, 2, 4), piece('cd', 1, 3, 4)]],
    ['another length than before', [piece('ab', 0, 2, 4), piece('cd', 1, 2, 5)]],
    ['more bytes than announced', [piece('ab', 0, 2, 3), piece('cd', 1, 2, 3)]],
    ['a file that is too large', [piece('ab', 0, 2, MAXIMUM + 1)]],
    ['a piece that is too large', [piece('x'.repeat(16_385))]],
    ['an index at the amount', [piece('a', 1, 1)]],
    ['an index below 0', [piece('a', -1, 1)]],
    ['an index that is a truth value', [{ ...piece('a'), chunk_index: false }]],
    ['an amount as text', [{ ...piece('a'), chunk_amount: '1' }]],
    ['base64 with noise', [{ ...piece('a'), chunk_base64: 'YQ= =' }]],
    ['base64 without its end', [{ ...piece('a'), chunk_base64: 'YQ' }]],
    ['base64 of another alphabet', [{ ...piece('a'), chunk_base64: '__8=' }]],
    ['no base64', [{ ...piece('a'), chunk_base64: undefined }]],
    ...['', '.a', 'a/b', '../a', 'a..b', 'a\\b', ' a', 'a ', 'a'.repeat(256), 'ä'].map(
      (key) => [`the key ${JSON.stringify(key)}`, [piece('a', 0, 1, 1, key)]] as const,
    ),
  ])('%s', async (_name, pieces) => {
    for (const before of pieces.slice(0, -1)) await files.take(before)
    await expect(files.take(pieces.at(-1))).rejects.toMatchObject(VALUE_ERROR)
  })

  test('a file that is not whole', async () => {
    await files.take(piece('ab', 0, 2, 4))
    await expect(used()).rejects.toMatchObject({ boxClass: 'BoxValidationError', message: 'file_key: 2 of 4 bytes have come' })
    await files.take(piece('c', 1, 2, 4))
    await expect(used()).rejects.toMatchObject({ boxClass: 'BoxValidationError' })
  })

  test('the 129th file, until one of them is used', async () => {
    for (let index = 0; index < 128; index += 1) await files.take(piece('x', 0, 1, 1, `k${index}`))
    await expect(files.take(piece('x', 0, 1, 1, 'more'))).rejects.toMatchObject(VALUE_ERROR)
    await files.take(piece('y', 0, 1, 1, 'k5'))
    expect(await used('k5')).toBe('y')
    await files.take(piece('x', 0, 1, 1, 'more'))
  })

  test('more than eight full files together', async () => {
    const full = async (key: string) => {
      for (let index = 0; index < 10; index += 1) await files.take(piece('x'.repeat(10_000), index, 10, MAXIMUM, key))
    }
    for (let index = 0; index < 8; index += 1) await full(`k${index}`)
    await expect(full('more')).rejects.toMatchObject(VALUE_ERROR)
    await used('k1')
    await full('again')
  })
})
