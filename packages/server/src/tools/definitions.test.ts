/** What a model reads of the tools. */
import { TOOL_NAMES } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { definitionOf, openAiTool } from './definitions.ts'

const definitions = TOOL_NAMES.map((name) => definitionOf({ name, description: `What ${name} does` }))
const propertiesOf = (schema: Readonly<Record<string, unknown>>) => schema['properties'] as Record<string, Record<string, unknown>>

test('each has its parameters, and takes no others', () => {
  const shown = definitions.map(({ name, input_schema: schema }) => [name, Object.keys(propertiesOf(schema)), schema['required']])
  expect(shown).toEqual([
    ['exec', ['command', 'workdir', 'timeout_sec', 'env', 'description'], ['command']],
    ['read', ['path', 'offset', 'limit', 'max_bytes', 'encoding', 'byte_offset'], ['path']],
    ['write', ['path', 'content', 'encoding', 'mode'], ['path', 'content']],
    ['edit', ['path', 'old_string', 'new_string'], ['path', 'old_string', 'new_string']],
    ['glob', ['pattern', 'path'], ['pattern']],
    ['grep', ['pattern', 'path', 'include'], ['pattern']],
    ['activate', ['skill_name'], ['skill_name']],
    ['register_skill', ['path', 'name', 'display_name', 'description', 'instructions'], ['path']],
    ['preview', ['port', 'path'], ['port']],
    ['process_start', ['name', 'command', 'workdir', 'env'], ['name', 'command']],
    ['process_list', [], undefined],
    ['process_logs', ['name'], ['name']],
    ['process_stop', ['name'], ['name']],
  ])
  for (const { input_schema: schema } of definitions) expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
})

test('bounds and defaults are told', () => {
  const [exec, read, , , glob, grep] = definitions.map(({ input_schema: schema }) => propertiesOf(schema))
  expect(exec).toMatchObject({
    command: { type: 'string' },
    workdir: { type: 'string', default: '/workspace' },
    timeout_sec: { type: 'integer', minimum: 1, default: 120 },
    env: { type: 'object', additionalProperties: { type: 'string' } },
  })
  expect(exec?.['timeout_sec']).not.toHaveProperty('maximum')
  expect(read).toMatchObject({
    offset: { type: 'integer', minimum: 1, default: 1 },
    limit: { minimum: 1, maximum: 10_000, default: 2_000 },
    max_bytes: { minimum: 1, maximum: 51_200, default: 51_200 },
    encoding: { enum: ['text', 'base64'], default: 'text' },
    byte_offset: { minimum: 0, default: 0 },
  })
  expect(glob).toMatchObject({ path: { default: '/workspace' } })
  expect(grep).toMatchObject({ pattern: { maxLength: 1_024 } })
})

test('nothing in them names the session, the host or a mount', () => {
  const names = definitions.flatMap(({ input_schema: schema }) => Object.keys(propertiesOf(schema)))
  expect(names.filter((name) => /session|host|mount/.test(name))).toEqual([])
})

test('every parameter has words for the model, and the schema no address', () => {
  for (const { name, input_schema: schema } of definitions) {
    expect(schema).not.toHaveProperty('$schema')
    for (const [field, property] of Object.entries(propertiesOf(schema)))
      expect(property['description'], `${name} ${field}`).toEqual(expect.any(String))
  }
})

test('as functions they are the same', () => {
  const [first] = definitions
  expect(first === undefined ? null : openAiTool(first)).toEqual({
    type: 'function',
    function: { name: 'exec', description: 'What exec does', parameters: first?.input_schema },
  })
})
