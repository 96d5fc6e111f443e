/** Which arguments must be repeated in headers, and how. */
import { describe, expect, test } from 'vitest'
import { createParamHeaders, withoutParamHeaders } from './param-headers.ts'

const server = {}
const inputSchema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    deep: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
    list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Never' } },
    other: { type: 'string' },
  },
}

async function outcome(given: object, headers: Record<string, string>, name = 'tool'): Promise<string> {
  const declared = createParamHeaders()
  declared.learn(server, { tools: [{ name: 'tool', inputSchema }, { name: 'plain' }, 1] })
  try {
    await declared.check(server, { name, arguments: given }, (header) => headers[header])
    return 'fine'
  } catch (error) {
    return error instanceof Error ? error.message : 'thrown'
  }
}

describe('headers for arguments', () => {
  test('must be there and say the same, plainly or encoded', async () => {
    expect(await outcome({ region: 'eu' }, { 'mcp-param-region': 'eu' })).toBe('fine')
    expect(await outcome({ region: 'é' }, { 'mcp-param-region': `=?base64?${Buffer.from('é').toString('base64')}?=` })).toBe('fine')
    expect(await outcome({ deep: { count: 42 } }, { 'mcp-param-count': '42.0' })).toBe('fine')
    expect(await outcome({ region: 'eu' }, {})).toContain('absent')
    expect(await outcome({ region: 'eu' }, { 'mcp-param-region': 'us' })).toContain('is not region of the body')
    expect(await outcome({ region: 'eu' }, { 'mcp-param-region': '=?base64?!?=' })).toContain('base64')
    expect(await outcome({ deep: { count: 42 } }, { 'mcp-param-count': '43' })).toContain('is not deep.count of the body')
  })

  test('are not asked for what is not given, not declared, or has no one place', async () => {
    expect(await outcome({ other: 'x', list: ['y'], deep: null }, {})).toBe('fine')
    expect(await outcome({ region: 'eu' }, {}, 'plain')).toBe('fine')
  })

  test('are taken out of a schema, and nothing else of it', () => {
    const { deep, list, other } = inputSchema.properties
    expect(withoutParamHeaders(inputSchema)).toEqual({
      type: 'object',
      properties: { region: { type: 'string' }, deep: { ...deep, properties: { count: { type: 'integer' } } }, list, other },
    })
    expect(withoutParamHeaders({ type: 'object', properties: 7 })).toEqual({ type: 'object', properties: 7 })
    expect(withoutParamHeaders({ type: 'object' })).toEqual({ type: 'object' })
  })
})
