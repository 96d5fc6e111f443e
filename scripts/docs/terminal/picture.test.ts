/** The picture of the README shows its transcript, all of it, and nothing that could do harm. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PICTURE, pictureOf, TRANSCRIPT } from './picture.ts'

const picture = readFileSync(PICTURE, 'utf8')

test('docs/images/terminal.svg is drawn from docs/images/terminal.txt', () => {
  expect(picture).toBe(pictureOf())
})

test('what is drawn, read line by line, is the transcript', () => {
  const lines = [...picture.matchAll(/<text .*?>(?<text>.*)<\/text>/g)].map(({ groups }) =>
    (groups?.['text'] ?? '').replace(/<\/?tspan.*?>/g, ''),
  )
  const text = lines.join('\n').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  expect(`${text}\n`).toBe(readFileSync(TRANSCRIPT, 'utf8'))
})

test('it loads nothing and runs nothing', () => {
  expect(picture).not.toMatch(/<script|<foreignObject|href|url\(|@import/)
})
