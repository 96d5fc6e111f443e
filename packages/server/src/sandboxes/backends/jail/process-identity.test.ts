/** A pid is never trusted without its start time. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { childrenOf, identify, isAlive, parseProcessStat, signalProcess, stateOf } from './process-identity.ts'

const FIELDS_3_TO_24 = 'S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21'

test('a process name with spaces and parentheses does not shift the fields', () => {
  expect(parseProcessStat(`42 (a) R (b c) ${FIELDS_3_TO_24}`)).toEqual({ state: 'S', starttime: 4711 })
})

test('a line that is not one of procfs is nothing', () => {
  expect(parseProcessStat('')).toBeNull()
  expect(parseProcessStat('42 (short) S 1')).toBeNull()
})

test('this process is alive, and not under another start time', () => {
  const [self] = identify(process.pid)
  expect(self && isAlive(self)).toBe(true)
  expect(isAlive({ pid: process.pid, starttime: 1 })).toBe(false)
})

test('a signal reaches only the process it was meant for', async () => {
  const child = spawn('sleep', ['1000'])
  await once(child, 'spawn')
  const [identity] = identify(child.pid ?? 0)
  if (identity === undefined) throw new Error('the child is not in procfs')
  expect(childrenOf(process.pid)).toContainEqual(identity)
  signalProcess({ ...identity, starttime: identity.starttime - 1 }, 'SIGKILL')
  expect(stateOf(identity)).not.toBeNull()
  signalProcess(identity, 'SIGKILL')
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  expect(isAlive(identity)).toBe(false)
  signalProcess(identity, 'SIGKILL')
})
