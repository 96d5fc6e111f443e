/** Every link in a page of this repository that leads to a file of it leads to one that is there, and to a heading that it has. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const pages = globSync('**/*.md', { cwd: ROOT, exclude: (path) => /(?:^|\/)(?:node_modules|\.tools|dist)$/.test(path) }).toSorted()

/** Without code, where brackets and parentheses mean something else. */
function proseOf(page: string): string {
  return page.replace(/^```[^]*?^```$/gm, '').replace(/`[^`\n]*`/g, '')
}

function linksOf(page: string): readonly string[] {
  const inText = [...proseOf(page).matchAll(/\]\((?<target>[^()\s]+)\)/g)]
  const inMarkup = [...proseOf(page).matchAll(/(?:src|srcset|href)="(?<target>[^"]+)"/g)]
  return [...inText, ...inMarkup].map(({ groups }) => groups?.['target'] ?? '').filter((target) => !/^[a-z]+:/.test(target))
}

/** As GitHub makes them from headings. */
function anchorsOf(page: string): readonly string[] {
  const headings = [...page.replace(/^```[^]*?^```$/gm, '').matchAll(/^#{1,6} (?<text>.*)$/gm)]
  return headings.map(({ groups }) =>
    (groups?.['text'] ?? '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function problemOf(path: string, target: string): string | null {
  const [file = '', anchor] = target.split('#')
  const place = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), decodeURIComponent(file))
  if (relative(ROOT, place).startsWith('..') || !existsSync(place)) return `${target}: there is no such file`
  if (anchor === undefined) return null
  if (statSync(place).isDirectory() || !place.endsWith('.md')) return `${target}: only a page has headings`
  return anchorsOf(readFileSync(place, 'utf8')).includes(anchor) ? null : `${target}: there is no such heading`
}

describe('links', () => {
  test.each(pages)('%s leads to what is there', (path) => {
    const links = linksOf(readFileSync(join(ROOT, path), 'utf8'))
    expect(links.map((target) => problemOf(path, target)).filter((problem) => problem !== null)).toEqual([])
  })

  test('every page of the documentation is in its index', () => {
    const index = linksOf(readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8'))
    const listed = globSync(['*.md', 'adr/*.md'], { cwd: join(ROOT, 'docs') }).filter((name) => name !== 'README.md')
    expect(listed.filter((name) => !index.includes(name))).toEqual([])
  })
})
