/** Too few descriptors for the launcher of jails are named before the first sandbox is made. */
import { expect, test } from 'vitest'
import { openFilesObstacle } from './open-files-ceiling.ts'

test('a hard limit below what the launcher needs is an obstacle with a fix', () => {
  expect(openFilesObstacle(256)).toEqual({
    reason: 'a process may have only 256 files open here, and the launcher of jails needs 512',
    fix: 'raise the hard limit of the server, with `ulimit -Hn 65536` or LimitNOFILE=65536',
  })
})

test('other limits are none', () => {
  expect(openFilesObstacle(512)).toBeNull()
  expect(openFilesObstacle(Infinity)).toBeNull()
  expect(openFilesObstacle()).toBeNull()
})
