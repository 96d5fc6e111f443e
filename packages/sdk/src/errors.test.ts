/** Codes and the guard that compares them. */
import { ERRORS, HoldfastError as ServerError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { CLIENT_ERROR_CODES, HoldfastError, isHoldfastError, SERVER_ERROR_CODES } from './errors.ts'

test('the codes are those of the server’s table', () => {
  expect(SERVER_ERROR_CODES.toSorted()).toEqual(Object.keys(ERRORS).toSorted())
})

test('a client’s own code is none of the server’s', () => {
  expect(CLIENT_ERROR_CODES.filter((code) => Object.hasOwn(ERRORS, code))).toEqual([])
})

test('an error is known by its code, from whichever copy of the class it is', () => {
  const error = new HoldfastError({ code: 'not_found', message: 'there is no such session', status: 404 })
  expect(isHoldfastError(error)).toBe(true)
  expect(isHoldfastError(error, 'forbidden', 'not_found')).toBe(true)
  expect(isHoldfastError(error, 'forbidden')).toBe(false)
  expect(isHoldfastError(new ServerError('not_found', 'there is no such session'), 'not_found')).toBe(true)
  expect(isHoldfastError(new Error('not_found'))).toBe(false)
  expect(isHoldfastError({ name: 'HoldfastError', code: 'not_found' })).toBe(false)
})
