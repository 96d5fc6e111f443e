/** Paths of callers are taken from the workspace on, and otherwise left to the kernel inside. */
import { expect, test } from 'vitest'
import { innerPath, splitPath } from './inner-path.ts'

const packed = { inhabitant: { uid: 1, home: '/sessions/a/home', workspace: '/sessions/a/workspace' } }

test.each([
  ['a', '/workspace/a', '/sessions/a/workspace/a'],
  ['./a', '/workspace/a', '/sessions/a/workspace/a'],
  ['.', '/workspace', '/sessions/a/workspace'],
  ['./', '/workspace', '/sessions/a/workspace'],
  ['../b/./c/', '/workspace/../b/./c/', '/sessions/a/workspace/../b/./c/'],
  ['.hidden', '/workspace/.hidden', '/sessions/a/workspace/.hidden'],
  ['/etc', '/etc', '/etc'],
  ['~', '/home/user', '/sessions/a/home'],
  ['~/.local/bin', '/home/user/.local/bin', '/sessions/a/home/.local/bin'],
  ['./~', '/workspace/~', '/sessions/a/workspace/~'],
  ['~other', '/workspace/~other', '/sessions/a/workspace/~other'],
])('%s', (path, alone, shared) => {
  expect([innerPath({ inhabitant: null }, path), innerPath(packed, path)]).toEqual([alone, shared])
})

test.each([
  ['/a/b', '/a', 'b'],
  ['/a/b//', '/a', 'b'],
  ['/b', '/', 'b'],
])('%s lies in %s as %s', (path, directory, name) => {
  expect(splitPath(path)).toEqual({ directory, name })
})
