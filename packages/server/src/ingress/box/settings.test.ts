/** What an operator may say about the Box door, from where it is read, and what is refused at the start. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../config.ts'
import { checkBoxSettings, checkStdioSettings } from './settings.ts'

const load = (environment: NodeJS.ProcessEnv = {}) => loadConfig({}, { HOLDFAST_HOME: '/nonexistent/home', ...environment })
const TOKEN = 't'.repeat(32)

test('the door is closed unless somebody opens it', () => {
  expect(load().box).toEqual({
    isEnabled: false,
    token: null,
    instance: null,
    tenant: 'default',
    hostRoot: null,
    ignoresImages: false,
    config: null,
  })
  expect(load({ HOLDFAST_BOX_ENABLED: 'true' }).box.isEnabled).toBe(true)
})

test('LangBot’s own variables count where Holdfast’s are absent', () => {
  const theirs = { LANGBOT_BOX_CONTROL_TOKEN: TOKEN, LANGBOT_BOX_TRUSTED_INSTANCE_UUID: 'inst-1', LANGBOT_BOX_CONFIG: '{}' }
  expect(load(theirs).box).toMatchObject({ token: TOKEN, instance: 'inst-1', config: '{}' })
  expect(load({ ...theirs, HOLDFAST_BOX_INSTANCE: 'inst-2' }).box.instance).toBe('inst-2')
  expect(load({ LANGBOT_BOX_CONTROL_TOKEN: '' }).box.token).toBeNull()
})

test('what LangBot calls its host root is the server’s, from where it was started, unless the operator says another', () => {
  const rootOf = (local: unknown, environment: NodeJS.ProcessEnv = {}) =>
    load({ LANGBOT_BOX_CONFIG: JSON.stringify({ local }), ...environment }).box.hostRoot
  expect(rootOf({ host_root: '/srv/box' })).toBe('/srv/box')
  expect(rootOf({ host_root: './data/box' })).toBe(join(process.cwd(), 'data/box'))
  expect(rootOf({ host_root: './data/box' }, { HOLDFAST_BOX_HOST_ROOT: '/srv/ours' })).toBe('/srv/ours')
  for (const local of [undefined, 'text', {}, { host_root: ' ' }, { host_root: 7 }]) expect(rootOf(local)).toBeNull()
  expect(load({ LANGBOT_BOX_CONFIG: 'no JSON' }).box.hostRoot).toBeNull()
})

test.each([{ HOLDFAST_BOX_CONTROL_TOKEN: 'short' }, { LANGBOT_BOX_CONTROL_TOKEN: `${TOKEN} x` }, { HOLDFAST_BOX_INSTANCE: '-x' }])(
  'a start with %j is refused, and the token is not told',
  (environment) => {
    expect(() => load(environment)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.not.stringContaining(TOKEN) as string }),
    )
  },
)

test('the token is never shown', () => {
  expect(JSON.stringify(load({ HOLDFAST_BOX_CONTROL_TOKEN: TOKEN }).shown)).not.toContain(TOKEN)
})

test('beyond loopback there is no open door without a token', () => {
  const open = load({ HOLDFAST_BOX_ENABLED: 'true' }).box
  for (const host of ['0.0.0.0', '::', '192.168.0.5']) {
    expect(() => checkBoxSettings(open, host)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    expect(() => checkBoxSettings({ ...open, token: TOKEN }, host)).not.toThrow()
    expect(() => checkBoxSettings({ ...open, isEnabled: false }, host)).not.toThrow()
  }
  expect(() => checkBoxSettings(open, '127.0.0.1')).not.toThrow()
})

test('a client on pipes that has a token has an instance', () => {
  const { box } = load()
  expect(() => checkStdioSettings({ ...box, token: TOKEN })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  expect(() => checkStdioSettings({ ...box, token: TOKEN, instance: 'inst-1' })).not.toThrow()
  expect(() => checkStdioSettings(box)).not.toThrow()
})
