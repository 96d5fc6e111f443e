/** What the log is told of failures. */
import { HoldfastError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { jsonLog } from '../../telemetry/log.ts'
import { loggedProblem, problemDocument } from './problems.ts'

function logged(error: unknown): string {
  const lines: string[] = []
  loggedProblem(
    error,
    'req_1',
    jsonLog('debug', (line) => void lines.push(line)),
  )
  return lines.join('')
}

test('a bug with its cause, a failure of the server with its sentence, and a refusal not at all', () => {
  expect(logged(new TypeError('x is not a function'))).toContain('x is not a function')
  expect(logged(new HoldfastError('backend_unavailable', 'docker is gone'))).toContain('docker is gone')
  expect(logged(new HoldfastError('not_found', 'no such session'))).toBe('')
})

test('a request that a planned stop refuses is no error', () => {
  expect(JSON.parse(logged(new HoldfastError('server_stopping', 'the server is stopping')))).toMatchObject({
    level: 'info',
    code: 'server_stopping',
  })
})

test('a hint that fits the case takes the place of the one of the code', () => {
  expect(problemDocument(new HoldfastError('forbidden', 'x', {}, { hint: 'Ask Ada.' }), 'req_1').hint).toBe('Ask Ada.')
  expect(problemDocument(new HoldfastError('forbidden', 'x'), 'req_1').hint).toMatch(/^Ask an operator/)
})

test('what an MCP server said before it ended is not in it', () => {
  const line = logged(new HoldfastError('mcp_server_exited', 'the MCP server "notes" ended (the token hunter2 is wrong)'))
  expect(line).toContain('mcp_server_exited')
  expect(line).not.toContain('hunter2')
})
