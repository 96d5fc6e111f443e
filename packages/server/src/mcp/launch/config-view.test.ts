/** What is shown of a configuration: all of it, but no value of its environment. */
import { McpServerConfig, McpServerConfigView } from '@holdfast/protocol/mcp'
import { expect, test } from 'vitest'
import { configView } from './config-view.ts'

test('a configuration is shown with the names of its variables, and never with their values', () => {
  const config = McpServerConfig.parse({
    command: 'x',
    args: ['a'],
    env: { TOKEN: 'hunter2' },
    box: { env: { INDEX: 'hunter2' } },
    tools: { deny: ['b'] },
  })
  const view = configView(config)
  expect(McpServerConfigView.parse(view)).toEqual(view)
  expect(view).toMatchObject({
    command: 'x',
    args: ['a'],
    env_keys: ['TOKEN'],
    cwd: null,
    box: { env_keys: ['INDEX'] },
    tools: { deny: ['b'] },
  })
  expect(JSON.stringify(view)).not.toContain('hunter2')
})
