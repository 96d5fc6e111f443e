/** What tar says and how it ends → what a caller is told. */
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { ExecExit, ExecRequest } from '../../guest/inside.ts'
import type { Place } from '../insides.ts'
import { startTar } from './tar.ts'

const requests: ExecRequest[] = []
/** A place where programs are only noted, or cannot be started. */
function placeWith(failure: HoldfastError | null = null, inhabitant: Place['inhabitant'] = null): Place {
  const exec = async (request: ExecRequest) => {
    requests.push(request)
    if (failure !== null) throw failure
    return {}
  }
  return { inside: { exec }, inhabitant } as unknown as Place
}
const signal = new AbortController().signal
const exitOf = (exitCode: number | null, killedBy: string | null = null): ExecExit => ({
  ...{ exitCode, signal: killedBy, timedOut: false, killed: false, survivors: false, durationMs: 1 },
})
const failureAfter = async (said: readonly string[], exit: ExecExit) => {
  const tar = await startTar(placeWith(), ['-c'], 'none', signal)
  for (const text of said) tar.hear(Buffer.from(text))
  return tar.failure(exit)
}

test('it dies with its connection, and is whoever the session is', async () => {
  await startTar(placeWith(null, { uid: 2_100_000_001, home: '/h', workspace: '/w' }), ['-x'], 'pipe', signal)
  expect(requests.at(-1)).toMatchObject({ argv: ['tar', '-x'], ephemeral: true, uid: 2_100_000_001, home: '/h', cwd: '/', stdin: 'pipe' })
})

test('a sandbox without tar says so by its name; another failure stays what it is', async () => {
  const missing = new HoldfastError('command_not_started', 'no tar (ENOENT)', { errno: 'ENOENT' })
  await expect(startTar(placeWith(missing), [], 'none', signal)).rejects.toMatchObject({
    code: 'capability_unsupported',
    details: { program: 'tar' },
  })
  const forbidden = new HoldfastError('command_not_started', 'not executable (EACCES)', { errno: 'EACCES' })
  await expect(startTar(placeWith(forbidden), [], 'none', signal)).rejects.toBe(forbidden)
})

test.each([
  [['tar: ./b: Cannot open: Permission denied\n', 'tar: Exiting with failure status due to previous errors\n'], 2, 'file_forbidden'],
  [['tar: x: Cannot write: No space left on device\ntar: Exiting with failure status due to previous errors\n'], 2, 'no_space'],
  [["tar: can't open 'x': Read-only file system"], 1, 'file_forbidden'],
  [['tar: This does not ', 'look like a tar archive\ntar: Skipping to next header\n'], 2, 'file_operation_failed'],
  [['tar: ./log: file changed as we read it\ntar: ./log: File shrank by 10 bytes; padding with zeros\n'], 1, 'file_operation_failed'],
  [[], 1, 'file_operation_failed'],
])('%j with %i is %s', async (said, exitCode, code) => {
  expect(await failureAfter(said, exitOf(exitCode))).toMatchObject({ code, details: { program: 'tar', exit_code: exitCode } })
})

test('the last line that means something is told, in one short printable line', async () => {
  const said = ['tar: \u001B[31mfirst\n', `tar: ${'x'.repeat(10_000)} last\n`, 'tar: Error is not recoverable: exiting now\n']
  const failure = await failureAfter(said, exitOf(2))
  expect(String(failure?.details['message']).length).toBeLessThan(600)
  expect(await failureAfter(['tar: a\u001Bb\n'], exitOf(2))).toMatchObject({ details: { message: 'tar: a b' } })
  expect(await failureAfter([], exitOf(null, 'SIGKILL'))).toMatchObject({ message: expect.stringContaining('killed by SIGKILL') })
})

test('files that changed or went away meanwhile are no failure', async () => {
  expect(
    await failureAfter(['tar: ./log: file changed as we ', 'read it\ntar: ./x: File removed before we read it\n'], exitOf(1)),
  ).toBeNull()
  expect(await failureAfter(['tar: removing leading / from member names\n'], exitOf(0))).toBeNull()
})
