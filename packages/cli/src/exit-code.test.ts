/** Exit codes by the conventions of `docker run` and `timeout`. */
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { exitCodeOf, exitCodeOfFailure } from './exit-code.ts'

test.each([
  [{ exitCode: 0, signal: null, timedOut: false }, 0],
  [{ exitCode: 7, signal: null, timedOut: false }, 7],
  [{ exitCode: null, signal: 'SIGKILL', timedOut: false }, 137],
  [{ exitCode: null, signal: 'SIGINT', timedOut: false }, 130],
  [{ exitCode: null, signal: 'SIGKILL', timedOut: true }, 124],
])('%j ends with %d', (ended, code) => expect(exitCodeOf(ended)).toBe(code))

test.each([
  [new HoldfastError('command_not_started', 'x', { errno: 'ENOENT' }), 127],
  [new HoldfastError('command_not_started', 'x', { errno: 'EACCES' }), 126],
  [new HoldfastError('image_missing', 'x'), 125],
  [new Error('x'), 125],
])('the failure %s ends with %d', (error, code) => expect(exitCodeOfFailure(error)).toBe(code))
