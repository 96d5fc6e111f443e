/** Which tools may be seen and called. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mayUse, visibleTools } from './tool-rules.ts'

describe('rules for tools', () => {
  test('allow all without a list, and deny in spite of one', () => {
    expect(mayUse({}, 'a')).toBe(true)
    expect(mayUse({ allow: [] }, 'a')).toBe(false)
    expect(mayUse({ allow: ['a'] }, 'ab')).toBe(false)
    expect(mayUse({ allow: ['read_*'], deny: ['*_secret'] }, 'read_file')).toBe(true)
    expect(mayUse({ allow: ['read_*'], deny: ['*_secret'] }, 'read_secret')).toBe(false)
    expect(visibleTools({ deny: ['b'] }, { tools: [{ name: 'a' }, { name: 'b' }, 1], nextCursor: 'x' })).toEqual({
      tools: [{ name: 'a' }],
      nextCursor: 'x',
    })
  })

  test('match as a regular expression would', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 })
    fc.assert(
      fc.property(letters, letters, (pattern, name) => {
        const expression = pattern
          .split('*')
          .map((part) => part.replaceAll('.', String.raw`\.`))
          .join('.*')
        expect(mayUse({ allow: [pattern] }, name)).toBe(new RegExp(`^${expression}$`, 's').test(name))
      }),
    )
  })
})
