/** The socket table: a row that breaks its rules keeps the server from starting. */
import { isHoldfastError, TerminalQuery } from '@holdfast/protocol'
import { z } from 'zod'
import { expect, test } from 'vitest'
import { OneId } from '../rest/paths.ts'
import type { SocketRow } from './socket-row.ts'
import { checkSockets, matchSocket } from './socket-table.ts'

const ROW: SocketRow = {
  ...{ path: '/v1/sessions/{id}/terminal', summary: 'x', authorization: 'exec', protocol: 'p', params: OneId, query: TerminalQuery },
  errors: [],
  prepare: () => Promise.reject(new Error('never')),
}
const problemOf = (...rows: SocketRow[]) => {
  try {
    checkSockets(rows)
    return null
  } catch (error) {
    return isHoldfastError(error) ? error.message : error
  }
}

test('a row says who may use it, for which session, once, with the parameters of its path', () => {
  expect(problemOf(ROW)).toBeNull()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the types forbid may still come from somewhere
  expect(problemOf({ ...ROW, authorization: undefined as unknown as 'exec' })).toMatch(/does not say who may use it/)
  expect(problemOf(ROW, ROW)).toMatch(/is there twice/)
  expect(problemOf({ ...ROW, path: '/v1/terminal' })).toMatch(/names none/)
  expect(problemOf({ ...ROW, params: z.strictObject({ id: z.string(), name: z.string() }) })).toMatch(/\(id\) in its path and \(id name\)/)
})

test('an address leads to its row and its parameters, and to no other', () => {
  expect(matchSocket([ROW], '/v1/sessions/ses_1/terminal')).toEqual({ row: ROW, params: { id: 'ses_1' } })
  for (const path of [
    '/v1/sessions/ses_1/terminal/',
    '/v1/sessions//terminal',
    '/v1/sessions/a/b/terminal',
    '/x/v1/sessions/a/terminal',
    '/',
  ])
    expect(matchSocket([ROW], path)).toBeNull()
})
