/** What both ends must compute and read the same way: names, contexts, frames, errors and limits. */
import { describe, expect, test } from 'vitest'
import { ControlToken, BoxContext, InstanceId } from './box-context.ts'
import { BoxError, errorMessage, isBoxError, recoverError } from './box-error.ts'
import { boxSkillTime, boxTime } from './box-session.ts'
import { DEFAULT_BOX_LIMITS, readBoxLimits } from './box-status.ts'
import { frameText, parseFrame, sequenceOf } from './frames.ts'
import { physicalSessionId, placementNamespace, sanitizedSessionId, workspaceNamespace } from './namespaces.ts'

describe('names', () => {
  test('are the ones a client computes', () => {
    expect(workspaceNamespace('inst-1', 'ws-A')).toBe('ws-2db0470dd734a3cfd13ed6b1')
    expect(physicalSessionId(placementNamespace('inst-1', 'ws-A', 1), 'grp/1:x')).toBe('ws-2db0470dd734a3cfd13ed6b1-g1-grp-1-x')
  })

  test('have runs of other characters as one hyphen, and none at the ends', () => {
    expect(sanitizedSessionId('--a::/b漢c_.-')).toBe('a-b-c_.')
    expect(sanitizedSessionId(`-a${'-'.repeat(1_000_000)}b--`)).toHaveLength(1_000_002)
    for (const nothing of ['', ' ', '://', '漢']) expect(() => sanitizedSessionId(nothing)).toThrow(BoxError)
  })
})

describe('a context', () => {
  const whole = { instance_uuid: 'i', workspace_uuid: 'w', placement_generation: 2 }

  test('has trimmed texts and the first generation unless it says another', () => {
    expect(BoxContext.parse({ instance_uuid: ' i ', workspace_uuid: ' w ' })).toEqual({ ...whole, placement_generation: 1 })
    expect(BoxContext.parse({ ...whole, installation_uuid: 'x' })).toEqual(whole)
    expect(BoxContext.parse({ ...whole, installation_uuid: 'x', runtime_revision: 1, artifact_digest: 'a'.repeat(64) })).toEqual(whole)
  })

  test.each([
    { instance_uuid: 'i' },
    { ...whole, instance_uuid: ' ' },
    { ...whole, placement_generation: 0 },
    { ...whole, placement_generation: 'x' },
    { ...whole, colour: 'red' },
    { ...whole, runtime_revision: 1 },
    { ...whole, installation_uuid: 'x', runtime_revision: 1, artifact_digest: 'A'.repeat(64) },
    'text',
  ])('is refused when it is %j', (context) => {
    expect(BoxContext.safeParse(context).success).toBe(false)
  })

  test('is of an instance whose id is a name, and a token is long and has no gaps', () => {
    for (const id of ['a', '9', 'inst-1', `a${'._:-'.repeat(31)}abc`]) expect(InstanceId.safeParse(id).success).toBe(true)
    for (const id of ['', '-a', 'a b', 'ä', 'a'.repeat(129)]) expect(InstanceId.safeParse(id).success).toBe(false)
    expect(ControlToken.safeParse('t'.repeat(32)).success).toBe(true)
    for (const token of ['t'.repeat(31), `${'t'.repeat(32)} `, `${'t'.repeat(20)} ${'t'.repeat(20)}`])
      expect(ControlToken.safeParse(token).success).toBe(false)
  })
})

describe('a failure', () => {
  test('is found by its class, and by no other that its text names', () => {
    const message = errorMessage('BoxSessionConflictError', 'image was "BoxAdmissionError: x", not BoxReadinessError:BoxAdmissionError:')
    expect(recoverError(message).boxClass).toBe('BoxSessionConflictError')
    expect(message).not.toContain('BoxAdmissionError:')
    expect(recoverError('PermissionError: stale').boxClass).toBe('BoxError')
    expect(recoverError('BoxRuntimeUnavailableError: x').boxClass).toBe('BoxError')
  })

  test('has a text of bounded length', () => {
    expect(errorMessage('BoxError', 'x'.repeat(4096))).toBe(`BoxError: ${'x'.repeat(4096)}`)
    expect(errorMessage('BoxError', '😀'.repeat(9000)).length).toBeLessThan(4130)
    expect(errorMessage('BoxError', `x${'😀'.repeat(9000)}`).isWellFormed()).toBe(true)
  })

  test('is a failure of Holdfast too', () => {
    expect(new BoxError('BoxCapacityExceededError', 'full')).toMatchObject({
      code: 'capacity_exhausted',
      boxClass: 'BoxCapacityExceededError',
    })
    expect(isBoxError(new Error('x'))).toBe(false)
  })
})

test('frames are objects, and carry no half characters', () => {
  for (const text of ['', 'x', '1', 'null', '[]', '"{}"', '{', '{]}']) expect(parseFrame(text)).toBeNull()
  expect(parseFrame('{"a":1}')).toEqual({ a: 1 })
  expect(frameText({ text: 'a\ud800b', back: '\\ud800' })).toBe('{"text":"a\ufffdb","back":"\\\\ud800"}')
  expect(frameText({ text: '😀\u2028' })).toBe('{"text":"😀\u2028"}')
})

test('a number comes back as it was sent, or -1', () => {
  const cases = [
    [5, 5],
    ['68030', '68030'],
    [undefined, -1],
    ['x', -1],
    [1.5, -1],
    [null, -1],
    [{}, -1],
    ['9'.repeat(100), -1],
  ] as const
  for (const [sent, back] of cases) expect(sequenceOf({ seq_id: sent })).toBe(back)
})

test('limits are whole numbers in their ranges, or the defaults', () => {
  expect(readBoxLimits({ max_sessions: 0, max_workspace_entries: 5 })).toEqual({ ...DEFAULT_BOX_LIMITS, max_sessions: 0 })
  for (const wrong of [
    null,
    [],
    'x',
    { max_sessions: true },
    { max_sessions: '5' },
    { max_sessions: 5001 },
    { max_rpc_file_bytes: 0 },
    { max_sessions: 1.5 },
    { max_sessions: null },
  ])
    expect(() => readBoxLimits(wrong)).toThrow(expect.objectContaining({ boxClass: 'ValueError' }))
})

test('times have microseconds and a zone', () => {
  const at = Date.UTC(2026, 10, 15, 19, 3, 17, 490)
  expect(boxTime(at)).toBe('2026-11-15T19:03:17.490000Z')
  expect(boxSkillTime(new Date(at))).toBe('2026-11-15T19:03:17.490000+00:00')
})
