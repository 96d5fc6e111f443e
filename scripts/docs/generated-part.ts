/**
 * The generated part of a page: what stands between `<!-- name:begin … -->` and `<!-- name:end -->`. Everything around it is written by hand.
 */

export function partOf(page: string, name: string): string {
  const { begin, end } = placeOf(page, name)
  return page.slice(begin, end)
}

export function withPart(page: string, name: string, part: string): string {
  const { begin, end } = placeOf(page, name)
  return `${page.slice(0, begin)}${part}${page.slice(end)}`
}

function placeOf(page: string, name: string): { readonly begin: number; readonly end: number } {
  const opening = new RegExp(`<!-- ${name}:begin.*-->\n`).exec(page)
  const end = page.indexOf(`<!-- ${name}:end -->`)
  if (opening === null || end < opening.index) throw new Error(`the page has no part ${name}`)
  return { begin: opening.index + opening[0].length, end }
}
