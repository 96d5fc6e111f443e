/** Text, images and other bytes are told apart by their first bytes. */
import { expect, test } from 'vitest'
import { fileKind } from './file-kind.ts'

const bytes = (latin1: string) => Buffer.from(latin1, 'latin1')

test('images are known by their signs, whatever their file is called', () => {
  expect(fileKind(bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'))).toBe('image/png')
  expect(fileKind(bytes('\xff\xd8\xff\xe0\0\x10JFIF'))).toBe('image/jpeg')
  expect(fileKind(bytes('GIF89a\x01\0'))).toBe('image/gif')
  expect(fileKind(bytes('RIFF\x24\0\0\0WEBPVP8 '))).toBe('image/webp')
})

test('a NUL among the first bytes makes anything else binary', () => {
  expect(fileKind(bytes('\x7fELF\x02\x01\x01\0'))).toBe('binary')
  expect(fileKind(bytes('RIFF\x24\0\0\0WAVE'))).toBe('binary')
  expect(fileKind(Buffer.alloc(0))).toBe('text')
  expect(fileKind(Buffer.from('één\n'))).toBe('text')
  expect(fileKind(Buffer.concat([Buffer.alloc(8_192, 'x'), Buffer.alloc(1)]))).toBe('text')
})
