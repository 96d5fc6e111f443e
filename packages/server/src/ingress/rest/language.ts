/**
 * Which of our languages a reader gets: the first of `Accept-Language` that we have, else English.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { LANGUAGES } from '@holdfast/protocol'
import type { Language } from '@holdfast/protocol'

/** Places where Chinese is written in traditional characters. */
const TRADITIONAL = /^zh-(hant|tw|hk|mo)\b/

export function languageOf(header: string | undefined): Language {
  const wished = (header ?? '')
    .slice(0, 512)
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part
        .trim()
        .toLowerCase()
        .split(';')
        .map((piece) => piece.trim())
      const quality = parameters.find((parameter) => parameter.startsWith('q='))
      return { tag, quality: quality === undefined ? 1 : Number(quality.slice(2)) }
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality)
  for (const { tag } of wished) {
    const found = knownLanguage(tag)
    if (found !== undefined) return found
  }
  return 'en-US'
}

function knownLanguage(tag: string): Language | undefined {
  if (/^zh\b/.test(tag)) return TRADITIONAL.test(tag) ? 'zh-Hant' : 'zh-Hans'
  return LANGUAGES.find((language) => language.slice(0, 2) === tag.split('-')[0])
}
