/** What a person reads after a failure: the message, and a next step that leads somewhere. */
import { PassThrough } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol/errors'
import { expect, test } from 'vitest'
import { tellFailure } from './failure.ts'

function told(error: HoldfastError): string {
  const output = new PassThrough()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only written to
  tellFailure(error, output as unknown as NodeJS.WriteStream)
  return String(output.read())
}

test.each([
  ['there is no tenant acme', 'holdfast tenants ls'],
  ["there is no skill 'reviewer'", 'holdfast skills ls'],
  ['there is no process of this name in this session', 'holdfast ps <session> -a'],
  ['there is no such execution in this session', 'holdfast ps <session> -a'],
  ['there is no such session', 'holdfast sessions ls -a'],
  ['there is no API key key_1', 'holdfast keys ls'],
  ['there is no webhook whk_1', 'holdfast webhooks ls'],
  ['there is no MCP server words', 'holdfast mcp ls'],
])('%s: the hint names the verb that lists them', (message, verb) => {
  expect(told(new HoldfastError('not_found', message))).toContain(`\`${verb}\``)
})

test('the hint for a broken configuration file names the file, not a verb that fails on it too', () => {
  const text = told(new HoldfastError('config_invalid', '/h/holdfast.yaml is not valid YAML', { file: '/h/holdfast.yaml' }))
  expect(text).toContain('/h/holdfast.yaml, or move the file away')
  expect(text).not.toContain('config show')
})

test('a message of several lines is shown as one, without control characters', () => {
  const text = told(new HoldfastError('backend_unavailable', 'the helper failed: setns\nchild \u001B[2Jfailed'))
  expect(text).toContain('holdfast: the helper failed: setns; child \\x1b[2Jfailed\n')
})
