/** What a client is told of a failure: a class it knows, and nothing about the server. */
import { ERRORS, HoldfastError } from '@holdfast/protocol'
import { BoxError, RECOVERED_CLASSES, recoverError } from '@holdfast/protocol/box'
import { expect, test } from 'vitest'
import { createLog } from '../../telemetry/log.ts'
import { boxClassOf, failureMessages } from './failure.ts'

const logged: string[] = []
const message = failureMessages({
  privatePaths: ['/srv/home'],
  log: createLog({ level: 'error', format: 'json' }, (line) => void logged.push(line)),
})

test('directories of the server and physical ids do not get out', () => {
  const failure = new BoxError('BoxValidationError', 'cannot read /srv/home/skills/x for ws-2db0470dd734a3cfd13ed6b1-g12-grp-1')
  expect(message(failure, 'box_exec')).toBe('BoxValidationError: cannot read (server)/skills/x for grp-1')
})

test('every failure of Holdfast has a class, and a client finds exactly that one', () => {
  for (const code of Object.keys(ERRORS)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the table
    const failure = new HoldfastError(code as keyof typeof ERRORS, 'BoxAdmissionError: BoxReadinessError: x')
    const known: readonly string[] = RECOVERED_CLASSES
    const expected = known.includes(boxClassOf(failure)) ? boxClassOf(failure) : 'BoxError'
    expect([code, recoverError(message(failure, 'box_exec')).boxClass]).toEqual([code, expected])
  }
  expect(boxClassOf(new HoldfastError('capacity_exhausted', 'x'))).toBe('BoxCapacityExceededError')
  expect(boxClassOf(new HoldfastError('mount_refused', 'x'))).toBe('BoxValidationError')
})

test('a bug is logged, and told without its cause', () => {
  expect(message(new TypeError('secret'), 'box_exec')).not.toContain('secret')
  expect(logged.join('')).toContain('secret')
})
