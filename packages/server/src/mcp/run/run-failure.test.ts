/** Failures of MCP servers: the phase they belong to, what is told to whom, and whether another try can help. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ERRORS, HoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { failureOf, failureView } from './run-failure.ts'
import type { FailedRun } from './run-failure.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..', '..')
const run: FailedRun = { server: 'notes', scope: 'session', phase: 'mcp_init', stderr: '', isCutOff: false }
const failed = (code: ErrorCode, differs: Partial<FailedRun> = {}) => failureOf(new HoldfastError(code, 'it broke'), { ...run, ...differs })

describe('a failure', () => {
  test.each([
    ['mcp_server_exited', true],
    ['backend_unavailable', true],
    ['session_unavailable', true],
    ['mcp_init_failed', false],
    ['command_not_started', false],
    ['dependencies_failed', false],
    ['session_incompatible', false],
    ['image_missing', false],
    ['quota_exceeded', false],
    ['server_stopping', false],
    ['session_closed', false],
  ] as const)('with %s is tried again: %s', (code, isRetried) => {
    expect(failed(code).mayPass).toBe(isRetried)
  })

  test.each(Object.keys(ERRORS) as ErrorCode[])('with %s sends nobody to a page that has no such part', (code) => {
    for (const [, page = '', part = ''] of failed(code).hint.matchAll(/(docs\/[\w-]+\.md), "([^"]+)"/g))
      expect(readFileSync(join(ROOT, page), 'utf8')).toMatch(new RegExp(`^#+ ${part}$`, 'm'))
  })

  test('to get a sandbox has a phase of its own, and says that nothing is run outside of one', () => {
    for (const phase of ['session_create', 'dep_install', 'process_start', 'relay_connect'] as const) {
      const { phase: told, hint, error } = failed('backend_unavailable', { phase })
      expect([told, error.code, error.details['phase']]).toEqual(['box_unavailable', 'backend_unavailable', 'box_unavailable'])
      expect(hint).toContain('nothing is run outside of one')
    }
    expect(failed('capacity_exhausted', { phase: 'runtime' }).phase).toBe('runtime')
  })

  test('tells the last complaint to the conversation in whose box it is, and to nobody who only shares it', () => {
    const stderr = 'connecting\nno database at \u001B[31mdb://me:hunter2@host\n'
    const own = failed('mcp_server_exited', { stderr })
    expect(own.error.message).toBe('the MCP server "notes": it broke (no database at db://…@host)')
    expect(own.error.details['stderr']).toContain('connecting')
    const cause = new HoldfastError('dependencies_failed', 'it broke', { output: 'secret', step: 'pip' })
    const shared = failureOf(cause, { ...run, scope: 'tenant', stderr })
    expect(shared.error.message).toBe('the MCP server "notes": it broke')
    expect(shared.error.details).toEqual({ step: 'pip', phase: 'mcp_init', server: 'notes', hint: shared.hint })
  })

  test('of a server that asks for a network in a box without one says so, where that may be the cause', () => {
    for (const code of ['mcp_server_exited', 'mcp_init_failed', 'dependencies_failed'] as const) {
      expect(failed(code, { isCutOff: true }).hint).toContain('has no network')
      expect(failed(code).hint).not.toContain('has no network')
    }
    expect(failed('command_not_started', { isCutOff: true }).hint).toContain('The program must be in the box')
  })

  test('that knows what to do about itself is not told something general instead', () => {
    const cause = new HoldfastError('dependencies_failed', 'it broke', { hint: 'name another image' })
    expect(failureOf(cause, run)).toMatchObject({ hint: 'name another image', error: { details: { hint: 'name another image' } } })
  })

  test('of npm is told by its reason, not by where it wrote its log', () => {
    const stderr =
      'npm error request to the registry failed\nnpm error \nnpm error A complete log of this run can be found in: /home/x.log\n'
    expect(failed('mcp_server_exited', { stderr }).error.message).toBe(
      'the MCP server "notes": it broke (npm error request to the registry failed)',
    )
  })

  test('that is a bug says nothing of itself', () => {
    const { error, mayPass } = failureOf(new TypeError('secret is not a function'), run)
    expect([error.code, mayPass]).toEqual(['internal', false])
    expect(error.message).not.toContain('secret')
  })

  test('is shown with its phase and what to do', () => {
    expect(failureView(failed('command_not_started', { phase: 'process_start' }))).toEqual({
      ...{ phase: 'process_start', code: 'command_not_started', message: 'the MCP server "notes": it broke' },
      hint: expect.stringContaining('The program must be in the box'),
    })
  })
})
