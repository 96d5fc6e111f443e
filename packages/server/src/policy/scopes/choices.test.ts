/** The choices that people are offered, complete in every language. */
import { describe, expect, test } from 'vitest'
import { LANGUAGES, SCOPE_NAMES } from '@holdfast/protocol'
import { DEFAULT_SCOPE, SCOPE_CHOICES } from './choices.ts'

test('the choices stand for these templates and idle times', () => {
  expect(SCOPE_CHOICES.map(({ name, template, idleSeconds }) => [name, template, idleSeconds])).toEqual([
    ['global', '{global}', 300],
    ['chat', '{launcher_type}_{launcher_id}', 300],
    ['user', '{launcher_type}_{launcher_id}_{sender_id}', 300],
    ['conversation', '{launcher_type}_{launcher_id}_{conversation_id}', 300],
    ['message', '{query_id}', 300],
    ['app', 'app:{user_id}:{task_id}', 1800],
    ['desktop', 'desktop:{user_id}:{task_id}', 900],
  ])
})

test('every name of the wire has one choice, and the default is one of them', () => {
  expect(SCOPE_CHOICES.map(({ name }) => name)).toEqual([...SCOPE_NAMES])
  expect(SCOPE_CHOICES.map(({ name }) => name)).toContain(DEFAULT_SCOPE)
})

test('no two choices have one template', () => {
  expect(new Set(SCOPE_CHOICES.map(({ template }) => template)).size).toBe(SCOPE_CHOICES.length)
})

test('there are eight languages, and every choice has each of them and no other', () => {
  expect(LANGUAGES).toHaveLength(8)
  for (const { labels, descriptions } of SCOPE_CHOICES) {
    expect(Object.keys(labels)).toEqual([...LANGUAGES])
    expect(Object.keys(descriptions)).toEqual([...LANGUAGES])
  }
})

describe.each(LANGUAGES)('in %s', (language) => {
  const labels = SCOPE_CHOICES.map((choice) => choice.labels[language])
  const descriptions = SCOPE_CHOICES.map((choice) => choice.descriptions[language])

  test('every text says something, without space around it', () => {
    for (const text of [...labels, ...descriptions]) {
      expect(text).not.toBe('')
      expect(text).toBe(text.trim())
    }
  })

  test('no two choices have one label or one description', () => {
    expect(new Set(labels).size).toBe(SCOPE_CHOICES.length)
    expect(new Set(descriptions).size).toBe(SCOPE_CHOICES.length)
  })

  test('the texts are those of this language and of no other', () => {
    for (const { descriptions: all } of SCOPE_CHOICES) {
      expect(LANGUAGES.filter((other) => all[other] === all[language])).toEqual([language])
    }
  })
})
