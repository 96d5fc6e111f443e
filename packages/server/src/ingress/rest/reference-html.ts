/**
 * Text of a page in which nothing that was put in can be anything but text.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */

/** Markup that was written by us; everything else is escaped when it is put in. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

type Part = Html | string | number | readonly Html[]

/** How far a line is indented in the source is not part of the page. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(pieces.map((piece, index) => piece.replaceAll(/\n\s+/g, '\n') + markupOf(parts[index] ?? '')).join(''))
}

export const NOTHING = new Html('')

/** Sentences with `code` in them, as the document has it. */
export function prose(text: string): Html {
  return new Html(
    text
      .split('`')
      .map((piece, index) => (index % 2 === 1 ? `<code>${escaped(piece)}</code>` : escaped(piece)))
      .join(''),
  )
}

function markupOf(part: Part): string {
  if (part instanceof Html) return part.markup
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  return part.map(({ markup }) => markup).join('')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
