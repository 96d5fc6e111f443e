/** The language of labels: what a browser sends, and what it gets. */
import { expect, test } from 'vitest'
import { languageOf } from './language.ts'

test.each([
  [undefined, 'en-US'],
  ['', 'en-US'],
  ['*', 'en-US'],
  ['fr-FR', 'en-US'],
  ['en-GB', 'en-US'],
  ['es', 'es-ES'],
  ['es-MX,es;q=0.9,en;q=0.8', 'es-ES'],
  ['fr;q=0.9, ja;q=0.8, ru;q=0.85', 'ru-RU'],
  ['ru;q=0, th', 'th-TH'],
  ['zh', 'zh-Hans'],
  ['zh-CN', 'zh-Hans'],
  ['zh-TW', 'zh-Hant'],
  ['zh-Hant-HK', 'zh-Hant'],
  ['zh-HK;q=0.5, vi;q=nonsense', 'zh-Hant'],
])('%s → %s', (header, language) => {
  expect(languageOf(header)).toBe(language)
})
