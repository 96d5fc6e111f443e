/**
 * That an MCP server is over, as its clients are told.
 *
 * ingress → [mcp] → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { isObject } from './message.ts'

/** What is known of an end goes into the details, and into the sentence. */
export function exited(how: unknown): HoldfastError {
  const { exitCode, signal } = isObject(how) ? how : {}
  const code = typeof exitCode === 'number' ? { exitCode } : {}
  const word = typeof signal === 'string' ? ` by ${signal}` : typeof exitCode === 'number' ? ` with exit code ${exitCode}` : ''
  return new HoldfastError('mcp_server_exited', `the MCP server ended${word}`, typeof signal === 'string' ? { ...code, signal } : code)
}
