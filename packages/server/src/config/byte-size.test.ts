/** Sizes as people write them. */
import { expect, test } from 'vitest'
import { parseByteSize } from './byte-size.ts'

test.each([
  ['1048576', 1_048_576],
  ['512m', 536_870_912],
  ['1.5 GiB', 1_610_612_736],
  ['2kb', 2048],
  ['64M', 67_108_864],
])('%s is %d bytes', (text, bytes) => expect(parseByteSize(text)).toBe(bytes))

test.each(['', 'm', '-1m', '1x', '1e3', 'NaN', '1 m b'])('%j is no size', (text) => expect(parseByteSize(text)).toBeNull())
