/** Secrets at rest. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSealing, readEarlierSealingKeys, readOrMakeSealingKey } from './sealing.ts'

const sealing = createSealing(randomBytes(32))
const secret = Buffer.from('a secret')

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-home-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

test('what is sealed opens with its key and context, and shows nothing of itself', () => {
  const sealed = sealing.seal(secret, 'whk_1')
  expect(Buffer.from(sealing.open(sealed, 'whk_1')).toString()).toBe('a secret')
  expect(Buffer.from(sealed).includes('secret')).toBe(false)
  expect(sealing.seal(secret, 'whk_1')).not.toEqual(sealed)
})

test('another key, another context, any changed or missing byte: refused', () => {
  const sealed = sealing.seal(secret, 'whk_1')
  const refusal = { code: 'config_invalid' }
  expect(() => createSealing(randomBytes(32)).open(sealed, 'whk_1')).toThrow(expect.objectContaining(refusal))
  expect(() => sealing.open(sealed, 'whk_2')).toThrow(expect.objectContaining(refusal))
  for (let index = 0; index < sealed.length; index++) {
    const changed = Uint8Array.from(sealed, (byte, at) => (at === index ? byte ^ 1 : byte))
    expect(() => sealing.open(changed, 'whk_1')).toThrow(expect.objectContaining(refusal))
    expect(() => sealing.open(sealed.subarray(0, index), 'whk_1')).toThrow(expect.objectContaining(refusal))
  }
})

test('the key of a home is made once, for its owner only; a damaged one is refused', () => {
  const key = readOrMakeSealingKey(home)
  expect(key.length).toBe(32)
  expect(readOrMakeSealingKey(home)).toEqual(key)
  expect(statSync(join(home, 'secret.key')).mode & 0o777).toBe(0o600)
  writeFileSync(join(home, 'secret.key'), 'half a k')
  expect(() => readOrMakeSealingKey(home)).toThrow(/does not hold a key/)
})

test('a key of another length is refused', () => {
  expect(() => createSealing(randomBytes(16))).toThrow('a sealing key has 32 bytes, not 16')
})

test('after a rotation earlier secrets open, and are sealed again with the current key only', () => {
  const [old, current] = [randomBytes(32), randomBytes(32)]
  const sealed = createSealing(old).seal(secret, 'whk_1')
  const rotated = createSealing(current, [old])
  expect(Buffer.from(rotated.open(sealed, 'whk_1')).toString()).toBe('a secret')
  const again = rotated.reseal(sealed, 'whk_1')
  if (again === null) throw new Error('it was not sealed again')
  expect(Buffer.from(createSealing(current).open(again, 'whk_1')).toString()).toBe('a secret')
  expect(rotated.reseal(again, 'whk_1')).toBeNull()
  expect(() => createSealing(old).open(rotated.seal(secret, 'whk_1'), 'whk_1')).toThrow()
  expect(() => rotated.open(sealed, 'whk_2')).toThrow(expect.objectContaining({ code: 'config_invalid' }))
})

test('the key of a home is rotated by moving its file: a new one is made, the earlier one is known', () => {
  const old = readOrMakeSealingKey(home)
  expect(readEarlierSealingKeys(home)).toEqual([])
  renameSync(join(home, 'secret.key'), join(home, 'secret.key.previous'))
  expect(readOrMakeSealingKey(home)).not.toEqual(old)
  expect(readEarlierSealingKeys(home)).toEqual([old])
  writeFileSync(join(home, 'secret.key.previous'), 'half a k')
  expect(() => readEarlierSealingKeys(home)).toThrow(/does not hold a key/)
})
